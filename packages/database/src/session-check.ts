import pg from 'pg'
import { underSettings } from './driver/session-settings.ts'

/** A limit that nobody sets by chance. */
const PROBE_MS = 86_399_999

/**
 * Whether a session keeps the settings that it is opened with. Before a database that answers, a pooler in transaction mode
 * refuses them, or drops them where it is told to: then statements run without role and limits, and without a word.
 */
export async function keepsSettings(url: string): Promise<boolean> {
  const settings = underSettings({ lock_timeout: PROBE_MS }, true)
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, ...settings })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query(`SELECT setting FROM pg_settings WHERE name = 'lock_timeout'`)
    return rows[0]?.setting === String(PROBE_MS)
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.message.includes('startup parameter')) return false
    throw error
  } finally {
    await client.end()
  }
}
