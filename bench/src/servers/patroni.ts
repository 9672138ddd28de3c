import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Child } from '@trestle/stack/processes/child.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { z } from 'zod'
import { killTree } from './process-tree.ts'
import { POSTGRES_BIN, type SystemProgram, type Workplace } from './workplace.ts'

export const PATRONI_PROGRAMS: readonly SystemProgram[] = [
  { file: '/usr/bin/patroni', debianPackage: 'patroni' },
  { file: '/usr/bin/etcd', debianPackage: 'etcd-server' },
  { file: join(POSTGRES_BIN, 'postgres'), debianPackage: 'postgresql-15' },
]

/** Three PostgreSQL servers. Patroni makes one the primary and one its synchronous standby. */
export interface DatabaseCluster {
  readonly nodes: readonly PatroniNode[]
  readonly superuser: PatroniCluster['superuser']
  /** Resolves to the primary's name when the other servers stream from it, one of them synchronously. */
  waitUntilComplete(): Promise<string>
  /** Kills PostgreSQL of a node. `machine` also kills Patroni, like a power failure. */
  kill(name: string, what: 'machine' | 'PostgreSQL'): Promise<void>
  /** Restarts the killed processes. */
  revive(name: string): Promise<void>
}

const NODES = ['node-1', 'node-2', 'node-3'] as const
const WHOLE_MS = 180_000
const POLL_MS = 250
const REQUEST_MS = 2_000

const Members = z.object({ members: z.array(z.object({ name: z.string(), role: z.string(), state: z.string() })) })
type Member = z.output<typeof Members>['members'][number]

/** Starts the cluster. Disposing of the workplace stops etcd and the nodes. */
export async function startCluster(workplace: Workplace): Promise<DatabaseCluster> {
  const cluster: PatroniCluster = {
    etcdPort: await startEtcd(workplace),
    binFolder: POSTGRES_BIN,
    passFile: join(workplace.createFolder('passwords'), 'pgpass'),
    superuser: { name: 'postgres', password: 'drill' },
  }
  const nodes: PatroniNode[] = []
  const running = new Map<string, Child>()
  const start = async ({ name }: PatroniNode) => {
    const args = [join(workplace.folder, `${name}.yml`)]
    running.set(name, await workplace.start({ name, program: '/usr/bin/patroni', args }))
  }
  for (const name of NODES) {
    const dataFolder = join(workplace.createFolder(name), 'data')
    const node = { name, postgresPort: await freePort(), restPort: await freePort(), dataFolder }
    workplace.write(`${name}.yml`, patroniConfig(node, cluster))
    nodes.push(node)
    await start(node)
  }
  const find = (name: string) => {
    const node = nodes.find((one) => one.name === name)
    if (node === undefined) throw new Error(`there is no ${name}`)
    return node
  }
  return {
    nodes,
    superuser: cluster.superuser,
    waitUntilComplete: () => waitUntilComplete(nodes),
    kill: async (name, what) => {
      const patroni = running.get(name)
      const pids = [what === 'machine' ? patroni?.pid : undefined, postmasterOf(find(name))]
      killTree(pids.filter((pid) => pid !== undefined))
      if (what === 'machine') await patroni?.ended
    },
    revive: (name) => start(find(name)),
  }
}

async function startEtcd(workplace: Workplace): Promise<number> {
  const [port, peerPort] = [await freePort(), await freePort()]
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`]
  const settings = {
    name: 'etcd',
    'data-dir': workplace.createFolder('etcd-data'),
    'initial-cluster': `etcd=${peer}`,
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
  }
  const args = Object.entries(settings).map(([name, value]) => `--${name}=${value}`)
  await workplace.start({ name: 'etcd', program: '/usr/bin/etcd', args })
  return port
}

/** Returns the id of the server's main process, or `undefined` if it does not run. */
function postmasterOf({ dataFolder }: PatroniNode): number | undefined {
  const file = join(dataFolder, 'postmaster.pid')
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : undefined
}

async function waitUntilComplete(nodes: readonly PatroniNode[]): Promise<string> {
  const deadlineMs = performance.now() + WHOLE_MS
  let members: readonly Member[] = []
  while (performance.now() < deadlineMs) {
    members = (await Promise.all(nodes.map(readMembers))).find((seen) => seen !== undefined) ?? []
    const primary = primaryOf(members)
    if (primary !== undefined) return primary
    await delay(POLL_MS)
  }
  throw new Error(`the cluster is not complete: ${JSON.stringify(members)}`)
}

/** Returns the primary of a complete cluster. */
function primaryOf(members: readonly Member[]): string | undefined {
  const inRole = (role: string) => members.filter((member) => member.role === role)
  const streaming = members.filter(({ state }) => state === 'streaming' || state === 'running').length
  const [primary] = inRole('leader')
  const isWhole = streaming === NODES.length && inRole('sync_standby').length > 0
  return isWhole && primary?.state === 'running' ? primary.name : undefined
}

/** Returns a node's view of the cluster, or `undefined` if the node does not answer. */
async function readMembers({ restPort }: PatroniNode): Promise<readonly Member[] | undefined> {
  try {
    const signal = AbortSignal.timeout(REQUEST_MS)
    const response = await fetch(`http://127.0.0.1:${restPort}/cluster`, { signal })
    return Members.parse(await response.json()).members
  } catch {
    return undefined
  }
}

/** A PostgreSQL server that Patroni runs, and its ports. */
interface PatroniNode {
  readonly name: string
  readonly postgresPort: number
  /** The port of Patroni's own API. */
  readonly restPort: number
  readonly dataFolder: string
}

interface PatroniCluster {
  readonly etcdPort: number
  readonly binFolder: string
  readonly passFile: string
  readonly superuser: { readonly name: string; readonly password: string }
}

/** An unreachable primary is replaced after this time. Patroni allows no smaller value. */
const TTL_SECONDS = 20
const LOOP_SECONDS = 2
const RETRY_SECONDS = 3

const LOOPBACK = '127.0.0.1'

/**
 * Returns the configuration of a node as JSON, which is also YAML. A commit is acknowledged only when a second node has it on
 * disk, so the loss of the primary loses no acknowledged write.
 */
function patroniConfig(node: PatroniNode, cluster: PatroniCluster): string {
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
        // Do not wait until a crashed server has recovered, because another node has all its data.
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
