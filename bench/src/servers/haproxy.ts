import { haproxyConfig, type Listener } from './haproxy-config.ts'
import type { SystemProgram, Workplace } from './workplace.ts'

/** The HAProxy of Debian 12. */
export const HAPROXY: SystemProgram = { file: '/usr/sbin/haproxy', debianPackage: 'haproxy' }

/** Starts HAProxy in the foreground, so that it ends with the workplace. */
export async function startHaproxy(workplace: Workplace, listeners: readonly Listener[]): Promise<void> {
  const file = workplace.write('haproxy.cfg', haproxyConfig(listeners))
  await workplace.start({ name: 'haproxy', program: HAPROXY.file, args: ['-db', '-f', file] })
}
