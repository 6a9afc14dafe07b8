//! A crowd of clients.
