import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Account, accountPasses } from './account.ts'
import type { PostgresBinaries } from './binaries.ts'

/** The folders of the programs and the data of PostgreSQL. */
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

/** The places to choose from. */
export interface HomeOptions {
  readonly binaries: PostgresBinaries
  /** The folder `.data` of the checkout. */
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
