import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Account, accountPasses } from './account.ts'
import type { PostgresBinaries } from './binaries.ts'

/** Where PostgreSQL is run from and keeps its data. */
export interface PostgresHome {
  /** Holds `bin`, `lib` and `share`. */
  readonly binaries: string
  /** The cluster: private to the account. */
  readonly data: string
  /** The user that the server runs as, where that is not the one who started the stack. */
  readonly account?: Account
  /** True when both are kept outside the checkout because the account cannot reach that. */
  readonly isOutside: boolean
}

/** The places to choose from. */
export interface HomeOptions {
  readonly binaries: PostgresBinaries
  /** `.data` of the checkout. */
  readonly dataDirectory: string
  /** For example `/var/lib/trestle`. */
  readonly stateDirectory: string
  /** Undefined when the stack does not run as root. */
  readonly account: Account | undefined
}

/**
 * Decides where PostgreSQL lives, and makes the place. Data that is there already decides first, so that it is never
 * left behind when the rights of a folder change; then whether the account reaches the checkout.
 */
export async function settleHome(options: HomeOptions): Promise<PostgresHome> {
  const { binaries, dataDirectory, account } = options
  const inside = join(dataDirectory, 'postgres')
  if (account === undefined) return { binaries: binaries.directory, data: inside, isOutside: false }
  const outside = outsideOf(options)
  const hasOutsideData = existsSync(join(outside, 'postgres', 'PG_VERSION'))
  chmodSync(dataDirectory, 0o711)
  if (!hasOutsideData && (await reaches(account, binaries.directory, dataDirectory))) {
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

/** Makes an empty private folder that belongs to the account. */
export function makePrivateFolder(directory: string, account: Account | undefined): void {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { mode: 0o700 })
  if (account) chownSync(directory, account.uid, account.gid)
}

/** One folder a checkout, named after its real path. */
function outsideOf({ stateDirectory, dataDirectory }: HomeOptions): string {
  const name = createHash('sha256').update(realpathSync(dataDirectory)).digest('hex').slice(0, 12)
  return join(stateDirectory, name)
}

async function reaches(account: Account, binaries: string, dataDirectory: string): Promise<boolean> {
  const tests = [
    ['-x', join(binaries, 'bin', 'postgres')],
    ['-r', join(binaries, 'share', 'postgresql', 'postgres.bki')],
    ['-x', dataDirectory],
  ]
  const passed = await Promise.all(tests.map((test) => accountPasses(account, test)))
  return passed.every(Boolean)
}

/** Copies under another name first: a copy that was cut short is never taken for a whole one. */
function copyOnce(from: string, to: string): void {
  if (existsSync(to)) return
  const draft = join(dirname(to), 'binaries.new')
  rmSync(draft, { recursive: true, force: true })
  cpSync(from, draft, { recursive: true, verbatimSymlinks: true })
  // The originals may have been written under a umask that keeps others out.
  execFileSync('chmod', ['-R', 'a+rX', draft])
  renameSync(draft, to)
}
