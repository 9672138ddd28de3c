import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Account, chooseAccount } from '@trestle/stack/postgres/home.ts'
import { type Child, startChild } from '@trestle/stack/processes/child.ts'
import { closeAtSignal } from './close-at-signal.ts'

export interface SystemProgram {
  readonly file: string
  readonly debianPackage: string
}

/** A folder in which system programs run, as a user without special rights. */
export interface Workplace extends AsyncDisposable {
  readonly folder: string
  /** The user of the programs. `undefined` for the user of this process. */
  readonly account: Account | undefined
  /** Writes a file that the programs can read. @returns its path */
  write(name: string, text: string): string
  /** Creates a folder that only the programs can use. @returns its path */
  createFolder(name: string): string
  /** Starts a program. Disposing of the workplace stops the programs, the last one first. */
  start(program: { readonly name: string; readonly program: string; readonly args: readonly string[] }): Promise<Child>
  /** Runs `act` when the workplace is disposed of, before the programs that were started earlier stop. */
  defer(act: () => Promise<void>): void
}

/** The folder of PostgreSQL's programs in Debian 12. */
export const POSTGRES_BIN = '/usr/lib/postgresql/15/bin'

const END_STEPS = [
  { signal: 'SIGTERM', waitMs: 8_000, target: 'process' },
  { signal: 'SIGKILL', waitMs: 1_000, target: 'group' },
] as const

/** @throws Error that names the packages of missing programs */
export function requirePrograms(programs: readonly SystemProgram[]): void {
  const missing = programs.filter(({ file }) => !existsSync(file)).map(({ debianPackage }) => debianPackage)
  if (missing.length > 0) throw new Error(`programs are missing: apt-get install ${missing.join(' ')}`)
}

/** Creates a workplace. Disposing of it stops its programs and removes its folder. @param parent the parent folder */
export async function openWorkplace(name: string, parent = tmpdir()): Promise<Workplace> {
  // PostgreSQL does not run as root.
  const account = process.getuid?.() === 0 ? await chooseAccount() : undefined
  const folder = mkdtempSync(join(parent, `trestle-${name}-`))
  chmodSync(folder, 0o711)
  const started = new AsyncDisposableStack()
  started.defer(() => rmSync(folder, { recursive: true, force: true }))
  let disposal: Promise<void> | undefined
  const dispose = () => {
    // All callers await the same disposal, because a second `disposeAsync` would not wait for the first.
    disposal ??= started.disposeAsync()
    return disposal
  }
  started.defer(closeAtSignal(dispose))
  const createFolder = (folderName: string) => {
    const path = join(folder, folderName)
    mkdirSync(path, { mode: 0o700 })
    if (account) chownSync(path, account.uid, account.gid)
    return path
  }
  const home = createFolder('home')
  return {
    folder,
    account,
    write: (fileName, text) => {
      const path = join(folder, fileName)
      writeFileSync(path, text)
      return path
    },
    createFolder,
    start: async (program) => {
      const child = await startChild({
        ...program,
        env: { PATH: `${POSTGRES_BIN}:/usr/local/bin:/usr/bin:/bin:/usr/sbin`, LC_ALL: 'C.UTF-8', HOME: home },
        cwd: home,
        logFile: join(folder, `${program.name}.log`),
        ...(account && { account: { uid: account.uid, gid: account.gid } }),
      })
      started.defer(() => child.end(END_STEPS))
      return child
    },
    defer: (act) => started.defer(act),
    [Symbol.asyncDispose]: dispose,
  }
}
