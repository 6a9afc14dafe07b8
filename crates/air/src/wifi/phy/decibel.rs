//! Decibels and back, through `libm`, so that every machine computes the same bits.

/// Boltzmann's constant, J/K (exact since the SI of 2019).
const BOLTZMANN_J_PER_K: f64 = 1.380_649e-23;
/// Temperature of the noise at a receiver's input, K (IEEE 802.11-2020, 17.3.10.2 calls for "room temperature"; the
/// field takes 290).
const NOISE_TEMPERATURE_K: f64 = 290.0;

/// Noise figure of a receiver, dB: what ns-3 and most testbeds take.
pub const NOISE_FIGURE_DB: f64 = 7.0;

/// 10^(`db`/10).
pub fn ratio_from_db(db: f64) -> f64 {
    libm::exp(db * (core::f64::consts::LN_10 / 10.0))
}

/// 10·log₁₀ of a power ratio; minus infinity for zero.
pub fn db_from_ratio(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio)
}

/// Milliwatts of `dbm`.
pub fn mw_from_dbm(dbm: f64) -> f64 {
    ratio_from_db(dbm)
}

/// dBm of `mw`; minus infinity for zero.
pub fn dbm_from_mw(mw: f64) -> f64 {
    db_from_ratio(mw)
}

/// Thermal noise in a receiver of this width and noise figure, in mW: k·T·B·F.
pub fn noise_mw(width_mhz: f64, noise_figure_db: f64) -> f64 {
    BOLTZMANN_J_PER_K * NOISE_TEMPERATURE_K * width_mhz * 1e6 * 1e3 * ratio_from_db(noise_figure_db)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for dbm in [-101.0, -62.0, 0.0, 16.02, 30.0] {
            assert!((dbm_from_mw(mw_from_dbm(dbm)) - dbm).abs() < 1e-12, "{dbm}");
        }
        assert_eq!(dbm_from_mw(0.0), f64::NEG_INFINITY);
    }

    #[test]
    fn noise_of_20_mhz() {
        // −174 dBm/Hz + 73.0 dB of bandwidth + 7 dB.
        assert!((dbm_from_mw(noise_mw(20.0, NOISE_FIGURE_DB)) + 93.965).abs() < 0.01);
    }
}
