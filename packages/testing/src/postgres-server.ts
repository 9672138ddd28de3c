import { existsSync } from 'node:fs'
import { access, chmod, constants, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClusterOnce, DATABASE_USER } from '@trestle/stack/postgres/cluster.ts'
import { prepareHome } from '@trestle/stack/postgres/embedded-database.ts'
import { serverEndSteps, startServer } from '@trestle/stack/postgres/server.ts'
import { freePort } from './free-port.ts'

/** The PostgreSQL of a run of tests. */
export interface TestPostgres {
  readonly url: string
  readonly stop: () => Promise<void>
}

const IMAGE = 'postgres:17-bookworm'
/**
 * No data of a test database must survive a crash, or lives long enough to be vacuumed. Tests of durability start servers of
 * their own.
 */
const FAST = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
  max_connections: 600,
  jit: 'off',
}
const PASSWORD = 'postgres'
const MEMORY = '/dev/shm'
/** A run of all tests keeps at most 0.6 GiB there, and its processes need memory too. */
const MEMORY_BYTES_MIN = 4 * 2 ** 30

/**
 * Starts a real PostgreSQL: TEST_DATABASE_URL if it is set, otherwise a container if a Docker engine runs, otherwise an
 * embedded server.
 * @throws StackFailure when the embedded server does not start
 */
export async function startTestPostgres(env: NodeJS.ProcessEnv): Promise<TestPostgres> {
  if (env.TEST_DATABASE_URL) return { url: env.TEST_DATABASE_URL, stop: async () => {} }
  return (await startContainer(env)) ?? startEmbeddedPostgres()
}

async function startContainer(env: NodeJS.ProcessEnv): Promise<TestPostgres | undefined> {
  if (!env.DOCKER_HOST && !existsSync('/var/run/docker.sock')) return undefined
  const { GenericContainer, Wait } = await import('testcontainers')
  try {
    const container = await new GenericContainer(IMAGE)
      .withEnvironment({ POSTGRES_PASSWORD: PASSWORD })
      .withExposedPorts(5432)
      .withCommand(['postgres', ...Object.entries(FAST).flatMap(([name, value]) => ['-c', `${name}=${value}`])])
      .withWaitStrategy(Wait.forListeningPorts())
      .start()
    const url = `postgres://postgres:${PASSWORD}@${container.getHost()}:${container.getMappedPort(5432)}/postgres`
    return {
      url,
      stop: async () => {
        await container.stop()
      },
    }
  } catch {
    // The engine does not run, or cannot pull the image. The embedded server is used instead.
    return undefined
  }
}

/**
 * Starts the PostgreSQL that npm installs, with a cluster of its own.
 * @throws StackFailure with the last lines of `initdb` or of the server when it does not start
 */
export async function startEmbeddedPostgres(): Promise<TestPostgres> {
  const directory = await mkdtemp(join((await hasRoomInMemory()) ? MEMORY : tmpdir(), 'trestle-test-'))
  // The user of the server must be able to enter, if it is not the user of the tests.
  await chmod(directory, 0o711)
  const home = await prepareHome(directory, join(directory, 'state'))
  await createClusterOnce(home, PASSWORD)
  await trustThisMachine(home.data)
  const port = await freePort()
  const server = await startServer({
    home,
    port,
    logFile: join(directory, 'postgres.log'),
    signal: new AbortController().signal,
    settings: FAST,
  })
  const url = `postgres://${DATABASE_USER}:${PASSWORD}@127.0.0.1:${port}/postgres`
  return {
    url,
    stop: async () => {
      await server.end(serverEndSteps)
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/**
 * Tests make thousands of connections. Proving a password, which anybody could read in this file, takes a third of the time of
 * each.
 */
function trustThisMachine(data: string): Promise<void> {
  return writeFile(join(data, 'pg_hba.conf'), 'host all all 127.0.0.1/32 trust\n')
}

/** Tests make and drop hundreds of databases. The file system of a disk would take a tenth of the run for this. */
async function hasRoomInMemory(): Promise<boolean> {
  try {
    await access(MEMORY, constants.W_OK)
    const { bavail, bsize } = await statfs(MEMORY)
    return Math.min(bavail * bsize, process.availableMemory()) >= MEMORY_BYTES_MIN
  } catch {
    return false
  }
}
