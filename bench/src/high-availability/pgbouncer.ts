import { freePort } from '../processes/free-port.ts'
import { SUPERUSER, untilWritable } from './debian-postgres.ts'
import type { SystemProgram, Workplace } from './workplace.ts'

export const PGBOUNCER: SystemProgram = { file: '/usr/sbin/pgbouncer', debianPackage: 'pgbouncer' }

const START_MS = 10_000

/**
 * Starts PgBouncer in transaction mode before a PostgreSQL that trusts this machine. It has its defaults otherwise: what
 * a client asks for at its start beyond them is refused. @returns its port
 */
export async function startPgBouncer(workplace: Workplace, postgresPort: number): Promise<number> {
  const port = await freePort()
  const users = workplace.write('pgbouncer-users.txt', `"${SUPERUSER}" ""\n`)
  const file = workplace.write(
    'pgbouncer.ini',
    `[databases]
* = host=127.0.0.1 port=${postgresPort} auth_user=${SUPERUSER}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
max_client_conn = 4000
default_pool_size = 40
server_idle_timeout = 10
`,
  )
  await workplace.start({ name: 'pgbouncer', program: PGBOUNCER.file, args: [file] })
  await untilWritable(`postgres://${SUPERUSER}@127.0.0.1:${port}/postgres`, START_MS)
  return port
}
