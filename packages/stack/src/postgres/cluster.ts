import { execFile } from 'node:child_process'
import { chownSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { StackFailure } from '../stack-failure.ts'
import { createPrivateFolder, type PostgresHome } from './home.ts'

/** The superuser of the embedded server. The services work as restricted roles that it may take. */
export const DATABASE_USER = 'trestle'

const LOCALE = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']

/**
 * Makes the cluster if there is none: UTF-8, sorted by code point on every system, passwords by SCRAM. It is made under another
 * name and renamed at the end, so that an interrupted start leaves nothing that looks complete.
 *
 * @returns whether it was made
 * @throws StackFailure with the last lines of `initdb`
 */
export async function createClusterOnce({ binaries, data, account }: PostgresHome, password: string): Promise<boolean> {
  if (existsSync(join(data, 'PG_VERSION'))) return false
  const draft = `${data}.new`
  const passwordFile = `${data}.password`
  createPrivateFolder(draft, account)
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 })
  if (account) chownSync(passwordFile, account.uid, account.gid)
  const args = [`--pgdata=${draft}`, `--username=${DATABASE_USER}`, '--auth=scram-sha-256', `--pwfile=${passwordFile}`]
  try {
    await promisify(execFile)(join(binaries, 'bin', 'initdb'), [...args, ...LOCALE], {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
      ...(account && { uid: account.uid, gid: account.gid }),
    })
  } catch (cause) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim().split('\n') : [String(cause)]
    throw new StackFailure([`PostgreSQL could not create ${draft}:`, ...said.slice(-3)], { cause })
  } finally {
    rmSync(passwordFile, { force: true })
  }
  renameSync(draft, data)
  return true
}
