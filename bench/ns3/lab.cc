// One network of access points and stations in ns-3, built call by call from Python (`run.py`) and compiled by cppyy.
// ns-3 is GPL-2.0: this text is given to it at run time, as a script is to its interpreter; nothing of ns-3 is linked or shipped with Ropewalk.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace ropewalk {
using namespace ns3;

// What each MAC gave up: by the retry limit, and by age or a full queue.
struct Drops { uint64_t retries = 0; uint64_t aged = 0; };
static std::vector<Drops> g_drops;
static void OnDrop(uint32_t node, WifiMacDropReason why, Ptr<const WifiMpdu> mpdu)
{
    if (!mpdu->GetHeader().IsData()) return;
    if (why == WIFI_MAC_DROP_REACHED_RETRY_LIMIT) g_drops[node].retries++; else g_drops[node].aged++;
}

// The failed and the acknowledged MPDUs of one access category's sender, for retries and loss inside A-MPDUs.
static std::vector<uint64_t> g_nacked, g_acked;
static void OnNack(uint32_t node, Ptr<const WifiMpdu>) { g_nacked[node]++; }
static void OnAck(uint32_t node, Ptr<const WifiMpdu>) { g_acked[node]++; }

// Each transmission as `seconds radio bytes retry`, for gaps.py.
static FILE* g_trace = nullptr;
static void OnTransmission(uint32_t radio, WifiConstPsduMap psdus, WifiTxVector, double)
{
    if (!g_trace) return;
    for (auto& [id, psdu] : psdus)
        fprintf(g_trace, "%.7f %u %u %d\n", Simulator::Now().GetSeconds(), radio, psdu->GetSize(), (int)psdu->GetHeader(0).IsRetry());
}

class Lab {
  public:
    void Trace(std::string path) { g_trace = fopen(path.c_str(), "w"); }

    void Start(uint32_t run, std::string standard, uint32_t width, std::string band, uint32_t streams, uint32_t retryLimit, double lifetime, std::string tcp)
    {
        RngSeedManager::SetSeed(20261120);
        RngSeedManager::SetRun(run);
        m_run = run;
        Config::Reset();
        m_standard = standard == "11a" ? WIFI_STANDARD_80211a : standard == "11g" ? WIFI_STANDARD_80211g
                   : standard == "11n" ? WIFI_STANDARD_80211n : WIFI_STANDARD_80211ac;
        Config::SetDefault("ns3::WifiPhy::ChannelSettings", StringValue("{0, " + std::to_string(width) + ", " + band + ", 0}"));
        Config::SetDefault("ns3::WifiRemoteStationManager::FragmentationThreshold", StringValue("22000"));
        Config::SetDefault("ns3::WifiMac::FrameRetryLimit", UintegerValue(retryLimit));
        Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(lifetime)));
        // TCP as ours: segments of 1448 B with timestamps, SACK, delayed acknowledgements of two segments or 40 ms, ample windows, RTO of at least 200 ms.
        Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(tcp == "cubic" ? "ns3::TcpCubic" : "ns3::TcpLinuxReno")));
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(8 << 20));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(8 << 20));
        Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
        Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
        m_phy.SetErrorRateModel("ns3::NistErrorRateModel");
        m_phy.Set("TxPowerStart", DoubleValue(16.0));
        m_phy.Set("TxPowerEnd", DoubleValue(16.0));
        m_phy.Set("Antennas", UintegerValue(streams));
        m_phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(streams));
        m_phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(streams));
        m_channel = CreateObject<YansWifiChannel>();
        m_loss = CreateObject<MatrixPropagationLossModel>();
        m_channel->SetPropagationLossModel(m_loss);
        m_channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
        m_phy.SetChannel(m_channel);
        g_drops.clear(); g_nacked.clear(); g_acked.clear();
    }

    void Capture() { m_phy.SetFrameCaptureModel("ns3::SimpleFrameCaptureModel"); }

    // The cell of the oracle's script: the access point in the middle, the stations on a circle of a metre, and receivers that notice every preamble.
    void Circle(uint32_t stations)
    {
        m_circle = stations;
        Ptr<LogDistancePropagationLossModel> loss = CreateObject<LogDistancePropagationLossModel>();
        loss->SetPathLossExponent(2.0);
        loss->SetReference(1.0, 46.6777);
        m_channel->SetPropagationLossModel(loss);
        m_phy.DisablePreambleDetectionModel();
    }

    void DefaultLoss(double db) { m_loss_default = db; m_loss->SetDefaultLoss(db); }

    // Adds an access point (or a station of `ssid`); returns its index. All are a metre or so apart: the losses come from the matrix.
    uint32_t AddRadio(bool ap, std::string ssid, std::string mode, std::string control, uint32_t rtsThreshold, bool shortSlot, bool shortGuard,
                      uint32_t ampdu, uint32_t queue)
    {
        Ptr<Node> node = CreateObject<Node>();
        Ptr<ConstantPositionMobilityModel> where = CreateObject<ConstantPositionMobilityModel>();
        double angle = m_circle ? 2 * M_PI * (m_nodes.size() - 1.0) / m_circle : 0;
        where->SetPosition(!m_circle ? Vector(0.1 * m_nodes.size(), 0, 0) : ap ? Vector(0, 0, 0) : Vector(std::cos(angle), std::sin(angle), 0));
        node->AggregateObject(where);
        WifiHelper wifi;
        wifi.SetStandard(m_standard);
        wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(mode), "ControlMode", StringValue(control),
                                     "RtsCtsThreshold", UintegerValue(rtsThreshold));
        WifiMacHelper mac;
        if (ap)
            mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(Ssid(ssid)), "BeaconInterval", TimeValue(MicroSeconds(65535 * 1024)),
                        "EnableBeaconJitter", BooleanValue(false), "ShortSlotTimeSupported", BooleanValue(shortSlot));
        else
            mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(Ssid(ssid)), "MaxMissedBeacons", UintegerValue(4294967295u),
                        "ActiveProbing", BooleanValue(true), "ShortSlotTimeSupported", BooleanValue(shortSlot));
        NetDeviceContainer dev = wifi.Install(m_phy, mac, NodeContainer(node));
        Ptr<WifiNetDevice> device = DynamicCast<WifiNetDevice>(dev.Get(0));
        if (m_standard == WIFI_STANDARD_80211n || m_standard == WIFI_STANDARD_80211ac)
        {
            device->GetHtConfiguration()->SetAttribute("ShortGuardIntervalSupported", BooleanValue(shortGuard));
            for (std::string ac : {"VO", "VI", "BE", "BK"})
            {
                device->GetMac()->SetAttribute(ac + "_MaxAmpduSize", UintegerValue(ampdu));
                device->GetMac()->SetAttribute(ac + "_MaxAmsduSize", UintegerValue(0));
            }
        }
        for (AcIndex ac : {AC_BE, AC_BK, AC_VI, AC_VO})
            if (Ptr<WifiMacQueue> q = device->GetMac()->GetTxopQueue(ac)) q->SetAttribute("MaxSize", QueueSizeValue(QueueSize(PACKETS, queue)));
        if (Ptr<WifiMacQueue> q = device->GetMac()->GetTxopQueue(AC_BE_NQOS)) q->SetAttribute("MaxSize", QueueSizeValue(QueueSize(PACKETS, queue)));
        uint32_t index = m_nodes.size();
        device->GetPhy()->TraceConnectWithoutContext("PhyTxPsduBegin", MakeBoundCallback(&OnTransmission, index));
        device->GetMac()->TraceConnectWithoutContext("DroppedMpdu", MakeBoundCallback(&OnDrop, index));
        device->GetMac()->TraceConnectWithoutContext("NAckedMpdu", MakeBoundCallback(&OnNack, index));
        device->GetMac()->TraceConnectWithoutContext("AckedMpdu", MakeBoundCallback(&OnAck, index));
        g_drops.emplace_back(); g_nacked.push_back(0); g_acked.push_back(0);
        m_nodes.push_back(node);
        m_devices.push_back(device);
        return index;
    }

    // EDCA parameters without a TXOP limit, for all categories of one radio.
    void NoTxop(uint32_t radio)
    {
        for (AcIndex ac : {AC_BE, AC_BK, AC_VI, AC_VO})
            m_devices[radio]->GetMac()->GetQosTxop(ac)->SetTxopLimit(Seconds(0));
    }

    // From 1.4 s on, after the traffic began at 1.3 s, so that every station has joined and has its Block Ack agreement.
    void Loss(uint32_t a, uint32_t b, double db)
    {
        Ptr<MobilityModel> one = m_nodes[a]->GetObject<MobilityModel>(), other = m_nodes[b]->GetObject<MobilityModel>();
        m_loss->SetLoss(one, other, m_loss_default, true);
        Simulator::Schedule(Seconds(1.4), [this, one, other, db]() { m_loss->SetLoss(one, other, db, true); });
    }

    // Addresses: all radios in one subnet, which is fine because frames only pass inside a BSS; optionally a server on a cable behind radio `ap`.
    void Address(int32_t ap, double cableMbps, double cableMs)
    {
        NetDeviceContainer devices;
        for (auto& d : m_devices) devices.Add(d);
        InternetStackHelper inet;
        for (auto& n : m_nodes) inet.Install(n);
        WifiHelper::AssignStreams(devices, 1000);
        Ipv4AddressHelper ip;
        ip.SetBase("10.1.0.0", "255.255.0.0");
        m_interfaces = ip.Assign(devices);
        NeighborCacheHelper neighbours;
        neighbours.PopulateNeighborCache();
        TrafficControlHelper tch;
        tch.Uninstall(devices);
        if (ap < 0) return;
        m_server = CreateObject<Node>();
        inet.Install(m_server);
        PointToPointHelper cable;
        cable.SetDeviceAttribute("DataRate", DataRateValue(DataRate((uint64_t)(cableMbps * 1e6))));
        cable.SetChannelAttribute("Delay", TimeValue(MicroSeconds((uint64_t)(cableMs * 1000))));
        cable.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
        NetDeviceContainer ends = cable.Install(m_nodes[ap], m_server);
        Ipv4AddressHelper wired;
        wired.SetBase("10.2.0.0", "255.255.255.0");
        m_cable = wired.Assign(ends);
        tch.Uninstall(ends);
        Ipv4StaticRoutingHelper routes;
        routes.GetStaticRouting(m_server->GetObject<Ipv4>())->SetDefaultRoute(m_cable.GetAddress(0), 1);
        for (uint32_t i = 0; i < m_nodes.size(); i++)
            if ((int32_t)i != ap) routes.GetStaticRouting(m_nodes[i]->GetObject<Ipv4>())->SetDefaultRoute(m_interfaces.GetAddress(ap), 1);
    }

    // A flow of UDP packets of `payload` bytes every `gapNs`, with type of service `tos`.
    void Udp(uint32_t from, uint32_t to, uint32_t payload, uint64_t gapNs, uint32_t tos, double start, double stop)
    {
        uint16_t port = 9000 + m_udp.size() + m_tcp.size();
        UdpServerHelper server(port);
        ApplicationContainer sink = server.Install(m_nodes[to]);
        sink.Start(Seconds(0));
        m_udp.push_back(DynamicCast<UdpServer>(sink.Get(0)));
        UdpClientHelper client(m_interfaces.GetAddress(to), port);
        client.SetAttribute("MaxPackets", UintegerValue(4294967295u));
        client.SetAttribute("Interval", TimeValue(NanoSeconds(gapNs)));
        client.SetAttribute("PacketSize", UintegerValue(payload));
        client.SetAttribute("Tos", UintegerValue(tos));
        ApplicationContainer source = client.Install(m_nodes[from]);
        source.Start(Seconds(start) + MicroSeconds(137 * port % 7919 + 11 * m_run));
        source.Stop(Seconds(stop));
    }

    // A bulk TCP flow between a radio's node and the server on the cable: `up` sends from the radio's node.
    void Tcp(uint32_t radio, bool up, double start)
    {
        uint16_t port = 9000 + m_udp.size() + m_tcp.size();
        Ptr<Node> from = up ? m_nodes[radio] : m_server;
        Ptr<Node> to = up ? m_server : m_nodes[radio];
        Ipv4Address at = up ? m_cable.GetAddress(1) : m_interfaces.GetAddress(radio);
        PacketSinkHelper server("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        ApplicationContainer sink = server.Install(to);
        m_tcp.push_back(DynamicCast<PacketSink>(sink.Get(0)));
        BulkSendHelper client("ns3::TcpSocketFactory", InetSocketAddress(at, port));
        client.SetAttribute("SendSize", UintegerValue(1448 * 8));
        client.Install(from).Start(Seconds(start));
    }

    // Runs; per-flow Mb/s between `warm` and `warm + secs`: IP bytes for UDP (payload + 28), application bytes for TCP.
    std::vector<double> Run(double warm, double secs, uint32_t payload)
    {
        std::vector<uint64_t> before(m_udp.size() + m_tcp.size()), after(before.size());
        auto read = [this](std::vector<uint64_t>& into) {
            for (size_t i = 0; i < m_udp.size(); i++) into[i] = m_udp[i]->GetReceived();
            for (size_t i = 0; i < m_tcp.size(); i++) into[m_udp.size() + i] = m_tcp[i]->GetTotalRx();
        };
        auto clear = [this]() {
            for (size_t i = 0; i < m_nodes.size(); i++) { g_drops[i] = Drops(); g_nacked[i] = 0; g_acked[i] = 0; }
        };
        m_joined = false;
        Simulator::Schedule(Seconds(1.29), [&]() {
            m_joined = true;
            for (auto& d : m_devices)
                if (auto sta = DynamicCast<StaWifiMac>(d->GetMac())) m_joined = m_joined && sta->IsAssociated();
        });
        Simulator::Schedule(Seconds(warm), [&]() { read(before); clear(); });
        Simulator::Schedule(Seconds(warm + secs), [&]() { read(after); });
        Simulator::Stop(Seconds(warm + secs));
        auto began = std::chrono::steady_clock::now();
        Simulator::Run();
        m_wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        m_events = Simulator::GetEventCount();
        read(after);
        std::vector<double> mbps;
        for (size_t i = 0; i < before.size(); i++)
        {
            double bytes = (after[i] - before[i]) * (i < m_udp.size() ? payload + 28.0 : 1.0);
            mbps.push_back(bytes * 8 / secs / 1e6);
        }
        Simulator::Destroy();
        if (g_trace) fclose(g_trace);
        g_trace = nullptr;
        return mbps;
    }

    // Whether every station had joined when the flows began.
    bool AllJoined() { return m_joined; }
    double Wall() { return m_wall; }
    double Events() { return (double)m_events; }
    double RetryDrops(uint32_t radio) { return (double)g_drops[radio].retries; }
    double AgedDrops(uint32_t radio) { return (double)g_drops[radio].aged; }
    double Nacked(uint32_t radio) { return (double)g_nacked[radio]; }
    double Acked(uint32_t radio) { return (double)g_acked[radio]; }

  private:
    YansWifiPhyHelper m_phy;
    WifiStandard m_standard;
    Ptr<YansWifiChannel> m_channel;
    Ptr<MatrixPropagationLossModel> m_loss;
    std::vector<Ptr<Node>> m_nodes;
    std::vector<Ptr<WifiNetDevice>> m_devices;
    Ipv4InterfaceContainer m_interfaces, m_cable;
    Ptr<Node> m_server;
    std::vector<Ptr<UdpServer>> m_udp;
    std::vector<Ptr<PacketSink>> m_tcp;
    uint32_t m_run = 0, m_circle = 0;
    double m_wall = 0, m_loss_default = 0;
    bool m_joined = false;
    uint64_t m_events = 0;
};
} // namespace ropewalk
