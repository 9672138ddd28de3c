import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'

/** When keys were last used: noted in the process and written now and then, never by the statement of a request. */
export interface KeyUsage {
  /** Notes that a request was let in by the key of a digest. */
  note(keyMac: Buffer): void
  start(): void
  /** Writes what was noted, and ends. */
  stop(): Promise<void>
}

const INTERVAL_MS = 60_000
/** Beyond it keys go unnoted until the next write: the process must not grow with its clients. */
const NOTED_MAX = 10_000

const writeQuery = prepare(
  'write_key_usage',
  (p: { macs: readonly Buffer[] }) => sql`
    UPDATE ${sql.table('app_keys')} SET last_used = now() WHERE mac = ANY (${p.macs}::bytea[])`,
)

export function createKeyUsage(lanes: Lanes, onError: (error: unknown) => void): KeyUsage {
  const noted = new Map<string, Buffer>()
  let timer: NodeJS.Timeout | undefined
  const write = async () => {
    const macs = [...noted.values()]
    noted.clear()
    if (macs.length === 0) return
    try {
      await lanes.write.all(writeQuery, { macs })
    } catch (error) {
      onError(error)
    }
  }
  return {
    note: (keyMac) => {
      if (noted.size < NOTED_MAX) noted.set(keyMac.toString('latin1'), keyMac)
    },
    start: () => {
      timer ??= setInterval(() => void write(), INTERVAL_MS).unref()
    },
    stop: async () => {
      clearInterval(timer)
      timer = undefined
      await write()
    },
  }
}
