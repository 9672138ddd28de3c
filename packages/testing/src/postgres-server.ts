import { existsSync, readFileSync } from 'node:fs'
import { access, chmod, constants, mkdir, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClusterOnce, DATABASE_USER, prepareHome } from '@trestle/stack/postgres/embedded-database.ts'
import { serverEndSteps, startServer } from '@trestle/stack/postgres/server.ts'
import { freePort } from './free-port.ts'

/** The PostgreSQL server of a test run. */
export interface TestPostgres {
  readonly url: string
  /** The program that runs the server. If another program was requested, also the reason for the difference. */
  readonly host: string
  readonly stop: () => Promise<void>
}

const DOCKER_SOCKET = '/var/run/docker.sock'
const COMPOSE_FILE = new URL('../../../docker-compose.yml', import.meta.url)
/**
 * The data of test databases need not survive a crash and are too short-lived for vacuum. Tests of durability start their own
 * servers.
 */
const FAST = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
  max_connections: 600,
  max_prepared_transactions: 10,
  jit: 'off',
  // Databases in memory need no processes that read ahead or write pages.
  io_method: 'sync',
  bgwriter_lru_maxpages: 0,
  update_process_title: 'off',
}
const PASSWORD = 'postgres'
const MEMORY = '/dev/shm'
/** The minimum free memory. A run of all tests stores at most 0.6 GiB, and its processes need memory too. */
const MEMORY_BYTES_MIN = 4 * 2 ** 30

/** The ways to start a server if the environment names none. */
interface PostgresStarters {
  readonly container: (image: string) => Promise<TestPostgres>
  readonly embedded: () => Promise<TestPostgres>
}

/**
 * Starts PostgreSQL. Uses `TEST_DATABASE_URL` if it is set, otherwise the container of `docker-compose.yml` if a Docker engine
 * runs, otherwise an embedded server of the same major version.
 * @throws StackFailure if the embedded server does not start
 */
export async function startTestPostgres(
  env: NodeJS.ProcessEnv,
  start: PostgresStarters = { container: startContainer, embedded: startEmbeddedPostgres },
): Promise<TestPostgres> {
  if (env.TEST_DATABASE_URL) return { url: env.TEST_DATABASE_URL, host: 'TEST_DATABASE_URL', stop: async () => {} }
  if (!env.DOCKER_HOST && !existsSync(DOCKER_SOCKET)) return start.embedded()
  const image = composeImage()
  try {
    return await start.container(image)
  } catch (error) {
    // The Docker engine does not run or cannot pull the image.
    const embedded = await start.embedded()
    const reason = error instanceof Error ? error.message : String(error)
    return { ...embedded, host: `${embedded.host}, because Docker did not start ${image}: ${reason}` }
  }
}

/** Returns the PostgreSQL image in `docker-compose.yml`. @throws Error if the file names no such image */
export function composeImage(): string {
  const image = /^ +image: (postgres:\S+)$/m.exec(readFileSync(COMPOSE_FILE, 'utf8'))?.[1]
  if (image === undefined) throw new Error('docker-compose.yml names no image of postgres')
  return image
}

async function startContainer(image: string): Promise<TestPostgres> {
  const { GenericContainer, Wait } = await import('testcontainers')
  const container = await new GenericContainer(image)
    .withEnvironment({ POSTGRES_PASSWORD: PASSWORD })
    .withExposedPorts(5432)
    .withCommand(['postgres', ...Object.entries(FAST).flatMap(([name, value]) => ['-c', `${name}=${value}`])])
    .withWaitStrategy(Wait.forListeningPorts())
    .start()
  const url = `postgres://postgres:${PASSWORD}@${container.getHost()}:${container.getMappedPort(5432)}/postgres`
  return {
    url,
    host: `a container of ${image}`,
    stop: async () => {
      await container.stop()
    },
  }
}

/**
 * Starts the PostgreSQL that npm installs, with its own cluster.
 * @param settings settings of a test that override `FAST`
 * @throws StackFailure with the last lines of `initdb` or of the server if it does not start
 */
export async function startEmbeddedPostgres(
  settings: Readonly<Record<string, string | number>> = {},
): Promise<TestPostgres> {
  const directory = await mkdtemp(join(await findTestFolder(), 'trestle-test-'))
  // The user of the server must be able to enter the folder, if it is not the user of the tests.
  await chmod(directory, 0o711)
  const home = await prepareHome(directory, join(directory, 'state'))
  await createClusterOnce(home, PASSWORD)
  await trustThisMachine(home.data)
  const sockets = join(directory, 'sockets')
  await mkdir(sockets)
  await chmod(sockets, 0o777)
  const port = await freePort()
  const server = await startServer({
    home,
    port,
    logFile: join(directory, 'postgres.log'),
    signal: new AbortController().signal,
    settings: { ...FAST, ...settings, unix_socket_directories: sockets },
  })
  // Clients use `host`, the folder of the Unix socket, which makes a query a fifth faster. Proxies use the address and port.
  const url = `postgres://${DATABASE_USER}:${PASSWORD}@127.0.0.1:${port}/postgres?host=${sockets}`
  return {
    url,
    host: 'an embedded server',
    stop: async () => {
      await server.end(serverEndSteps)
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/**
 * Lets all local clients connect without a password. Tests open thousands of connections, and password authentication takes a
 * third of the time of each. The password is public in this file anyway.
 */
function trustThisMachine(data: string): Promise<void> {
  return writeFile(join(data, 'pg_hba.conf'), 'local all all trust\nhost all all 127.0.0.1/32 trust\n')
}

/**
 * Returns the folder for the servers of a test run: a folder in memory if there is room, otherwise the folder of temporary files.
 * Tests create and drop hundreds of databases. For each file of a new database, ext4 checks the files that were deleted in the
 * last seconds. That would take a tenth of a run, and a third of a run on a cluster.
 */
export async function findTestFolder(): Promise<string> {
  return (await hasRoomInMemory()) ? MEMORY : tmpdir()
}

async function hasRoomInMemory(): Promise<boolean> {
  try {
    await access(MEMORY, constants.W_OK)
    const { bavail, bsize } = await statfs(MEMORY)
    return Math.min(bavail * bsize, process.availableMemory()) >= MEMORY_BYTES_MIN
  } catch {
    return false
  }
}
