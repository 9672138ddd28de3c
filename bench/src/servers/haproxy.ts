import type { SystemProgram, Workplace } from './workplace.ts'

/** The HAProxy of Debian 12. */
export const HAPROXY: SystemProgram = { file: '/usr/sbin/haproxy', debianPackage: 'haproxy' }

/** Starts HAProxy in the foreground, so that it stops with the workplace. */
export async function startHaproxy(workplace: Workplace, listeners: readonly Listener[]): Promise<void> {
  const file = workplace.write('haproxy.cfg', haproxyConfig(listeners))
  await workplace.start({ name: 'haproxy', program: HAPROXY.file, args: ['-db', '-f', file] })
}

interface Listener {
  readonly name: string
  readonly port: number
  readonly mode: 'http' | 'tcp'
  /** A path that answers 200 while a server may get requests. */
  readonly check: string
  readonly servers: readonly ListenedServer[]
}

interface ListenedServer {
  readonly name: string
  readonly port: number
  /** The port of `check`, if it differs. */
  readonly checkPort?: number
}

/** Longer than the longest request of a service. */
const HTTP_TIMEOUT = '60s'
/** Connections to a database may be idle for a long time. */
const TCP_TIMEOUT = '1h'
const CHECK_MS = 250
/** One late answer of a busy server must not take it out of service. */
const FALLS = 3

/**
 * Returns the configuration of a local HAProxy. A server that fails its checks gets no new requests. Over HTTP, it finishes its
 * open requests. Over TCP, its connections are closed, because it is a database that is no longer the primary.
 */
export function haproxyConfig(listeners: readonly Listener[]): string {
  return [
    'global',
    '  maxconn 4000',
    'defaults',
    '  timeout connect 2s',
    '  timeout check 2s',
    '  retries 3',
    '  option redispatch 1',
    ...listeners.flatMap(listenSection),
    '',
  ].join('\n')
}

function listenSection({ name, port, mode, check, servers }: Listener): readonly string[] {
  const timeout = mode === 'http' ? HTTP_TIMEOUT : TCP_TIMEOUT
  const whenDown = mode === 'tcp' ? ' on-marked-down shutdown-sessions' : ''
  return [
    `listen ${name}`,
    `  bind 127.0.0.1:${port}`,
    `  mode ${mode}`,
    `  timeout client ${timeout}`,
    `  timeout server ${timeout}`,
    `  option httpchk GET ${check}`,
    '  http-check expect status 200',
    ...(mode === 'http' ? ['  http-request set-header X-Forwarded-For %[src]'] : []),
    `  default-server inter ${CHECK_MS}ms fall ${FALLS} rise 1${whenDown}`,
    ...servers.map(({ name: server, port: at, checkPort }) => {
      return `  server ${server} 127.0.0.1:${at} check${checkPort === undefined ? '' : ` port ${checkPort}`}`
    }),
  ]
}
