/** A PostgreSQL that Patroni runs, and its ports. */
export interface PatroniNode {
  readonly name: string
  readonly postgresPort: number
  /** The port of Patroni's own API. */
  readonly restPort: number
  readonly dataFolder: string
}

/** The settings that all nodes have. */
export interface PatroniCluster {
  readonly etcdPort: number
  readonly binFolder: string
  readonly passFile: string
  readonly superuser: { readonly name: string; readonly password: string }
}

/** Seconds after which a silent primary loses its place. Patroni allows no smaller value. */
const TTL_SECONDS = 20
const LOOP_SECONDS = 2
const RETRY_SECONDS = 3

const LOOPBACK = '127.0.0.1'

/**
 * The configuration of one node, as JSON, which is also YAML. A commit is answered once a second node has it on disk, and not
 * before: the loss of the primary loses nothing that was acknowledged.
 */
export function patroniConfig(node: PatroniNode, cluster: PatroniCluster): string {
  const { superuser } = cluster
  const login = { username: superuser.name, password: superuser.password }
  const config = {
    scope: 'trestle',
    name: node.name,
    restapi: { listen: `${LOOPBACK}:${node.restPort}`, connect_address: `${LOOPBACK}:${node.restPort}` },
    etcd3: { hosts: [`${LOOPBACK}:${cluster.etcdPort}`] },
    bootstrap: {
      dcs: {
        ttl: TTL_SECONDS,
        loop_wait: LOOP_SECONDS,
        retry_timeout: RETRY_SECONDS,
        // Patroni does not wait for a crashed server to recover: another node has all of its data.
        primary_start_timeout: 0,
        master_start_timeout: 0,
        synchronous_mode: true,
        synchronous_mode_strict: true,
        postgresql: {
          use_pg_rewind: true,
          use_slots: true,
          parameters: { max_connections: 300, wal_keep_size: '256MB', hot_standby: 'on', wal_log_hints: 'on' },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
      pg_hba: [`host all all ${LOOPBACK}/32 scram-sha-256`, `host replication all ${LOOPBACK}/32 scram-sha-256`],
    },
    postgresql: {
      listen: `${LOOPBACK}:${node.postgresPort}`,
      connect_address: `${LOOPBACK}:${node.postgresPort}`,
      data_dir: node.dataFolder,
      bin_dir: cluster.binFolder,
      pgpass: `${cluster.passFile}-${node.name}`,
      authentication: { superuser: login, replication: { ...login, username: 'replicator' }, rewind: login },
      parameters: { unix_socket_directories: '', password_encryption: 'scram-sha-256' },
    },
  }
  return JSON.stringify(config, undefined, 2)
}
