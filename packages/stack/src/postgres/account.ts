import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { StackFailure } from '../stack-failure.ts'

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
export async function accountPasses(account: Account, test: readonly string[]): Promise<boolean> {
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
