//! `plan(&Snapshot) -> Plan`
