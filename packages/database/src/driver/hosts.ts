import { connect } from 'node:net'
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import pg from 'pg'
import { isDatabaseUnavailable, NoConnectionError } from '../unavailable.ts'

/**
 * The connection strings of a database that several servers lead to, one for each host of `postgres://…@a:5432,b:5432/name`. One
 * host is the usual case.
 */
export function urlsOfHosts(url: string): readonly string[] {
  const [, start = '', hosts = '', rest = ''] = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(url) ?? []
  return hosts.includes(',') ? hosts.split(',').map((host) => start + host + rest) : [url]
}

interface HostOptions {
  readonly connectionString: string
  readonly Client?: typeof pg.Client
}

/** A host accepted a connection and refused it before a statement was sent, because it starts or stops. */
class HostRefusalError extends NoConnectionError {}

/**
 * Connects, and tries again when the host that was picked refuses the connection: another one is picked then. Nothing was sent to
 * the first one, so the repeat is safe.
 * @param hosts how many hosts there are, which is how often each may be tried
 * @throws the last refusal, when each host refuses, and any other error at once
 */
export async function connectToAny<T>(attempt: () => Promise<T>, hosts: number): Promise<T> {
  try {
    return await attempt()
  } catch (error) {
    if (hosts <= 1 || !(error instanceof HostRefusalError)) throw error
    return connectToAny(attempt, hosts - 1)
  }
}

/** For how long a host that refused a connection is asked last. */
const REFUSED_MS = 5_000
/** How long a host may take to accept a connection before the next one is asked. */
const ACCEPT_MS = 1_000
const POSTGRES_PORT = 5_432

interface Host {
  readonly host: string
  readonly port: number
}

/**
 * Lets each connection pick one of the hosts of a connection string by chance. Hosts that do not answer are skipped.
 * @param Client the class of connections
 */
export function overHosts(url: string, Client?: typeof pg.Client): HostOptions {
  const urls = urlsOfHosts(url)
  const [first = url] = urls
  if (urls.length === 1) return { connectionString: url, ...(Client && { Client }) }
  return { connectionString: first, Client: clientOver(urls.map(toHost), Client ?? pg.Client) }
}

function toHost(url: string): Host {
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) || POSTGRES_PORT }
}

function clientOver(hosts: readonly Host[], Client: typeof pg.Client): typeof pg.Client {
  const refusedAt = new Map<Host, number>()
  const lastRefused = (host: Host) => {
    const atMs = refusedAt.get(host) ?? Number.NEGATIVE_INFINITY
    return performance.now() - atMs < REFUSED_MS ? atMs : Number.NEGATIVE_INFINITY
  }
  const pick = async (): Promise<Host> => {
    const byChance = hosts
      .map((host) => ({ host, chance: Math.random() }))
      .sort((one, other) => one.chance - other.chance)
    const order = byChance.map(({ host }) => host).sort((one, other) => compare(lastRefused(one), lastRefused(other)))
    for (const host of order) {
      if (await accepts(host)) return host
      refusedAt.set(host, performance.now())
    }
    throw new NoConnectionError('no host of the database accepts connections')
  }
  return class extends Client {
    // One method stands for all overloads of pg, as in `clientUnder`.
    override connect(...given: never[]): never
    override connect(done?: (error?: Error) => void): unknown {
      const connecting = pick().then(async (host) => {
        Object.assign(this, host)
        await super.connect().catch((error: unknown) => {
          // A server that starts or stops accepts connections, and then refuses them.
          refusedAt.set(host, performance.now())
          if (!isDatabaseUnavailable(error)) throw error
          throw new HostRefusalError('a host of the database refuses connections', { cause: error })
        })
      })
      if (!done) return connecting
      connecting.then(() => done(), done)
      return undefined
    }
  }
}

function compare(one: number, other: number): number {
  return one === other ? 0 : one - other
}

function accepts({ host, port }: Host): Promise<boolean> {
  const socket = connect(port, host)
  return new Promise((resolve) => {
    const end = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
    socket.setTimeout(ACCEPT_MS, () => end(false))
  })
}

/** A database that takes statements of PostgreSQL, sends them nowhere and answers with no rows. */
export function createSilentDatabase<Tables>(): Kysely<Tables> {
  return new Kysely({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
}
