export interface Address {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
}

const HOST = '127.0.0.1'
const PORT = 8_000
const PORT_MAX = 65_535

/** Parses `host:port`, `host`, `:port`, `port` or `[v6]:port`. Returns `undefined` for any other text. */
export function parseAddress(text: string): Address | undefined {
  const [, v6, name, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^[\]:\s]*))(?::(\d{1,5}))?$/.exec(text) ?? []
  if (v6 === undefined && name === undefined) return undefined
  const lonePort = port === undefined && name !== undefined && /^\d{1,5}$/.test(name)
  const number = Number((lonePort ? name : port) ?? PORT)
  if (number > PORT_MAX) return undefined
  return { host: v6 ?? ((!lonePort && name) || HOST), port: number }
}

export function formatAddress({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
