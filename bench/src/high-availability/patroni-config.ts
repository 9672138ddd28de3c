/** A PostgreSQL that Patroni runs, and where it answers. */
export interface PatroniNode {
  readonly name: string
  readonly postgresPort: number
  /** Of Patroni's own API. */
  readonly restPort: number
  readonly dataFolder: string
}

/** What the nodes have in common. */
export interface PatroniCluster {
  readonly etcdPort: number
  readonly binFolder: string
  readonly passFile: string
  readonly superuser: { readonly name: string; readonly password: string }
}

/** Seconds after which a leader that says nothing has lost its place; the least that Patroni takes. */
const TTL_SECONDS = 20
const LOOP_SECONDS = 2
const RETRY_SECONDS = 3

const LOOPBACK = '127.0.0.1'

/**
 * The configuration of one node, as JSON, which is YAML too. A commit is answered when a second node has it on disk, and
 * rather not at all than without that: nothing that was acknowledged is lost with the primary.
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
        // A server that crashed is not waited for: another one has everything.
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
