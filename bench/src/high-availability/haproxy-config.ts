/** A port of HAProxy, and the servers behind it. */
export interface Listener {
  readonly name: string
  readonly port: number
  readonly mode: 'http' | 'tcp'
  /** Path that answers 200 where a server may be given work. */
  readonly check: string
  readonly servers: readonly ListenedServer[]
}

/** A server behind a listener, on the loopback address. */
export interface ListenedServer {
  readonly name: string
  readonly port: number
  /** Where `check` is asked, when that is another port. */
  readonly checkPort?: number
}

/** Long enough for the longest request of a service. */
const HTTP_TIMEOUT = '60s'
/** Connections to a database may be idle for as long as they like. */
const TCP_TIMEOUT = '1h'
const CHECK_MS = 250
/** One late answer of a busy server does not put it out of work. */
const FALLS = 3

/**
 * The configuration of an HAProxy on loopback. A server that does not answer its checks is given nothing new; over
 * HTTP what it has begun ends in peace, over TCP, where it is a database that is no primary any more, it is cut off.
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
