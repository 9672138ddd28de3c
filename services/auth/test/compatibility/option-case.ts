import type { OptionName, SETTING_DEFAULTS } from '../../src/config/compatibility.ts'
import type { MailApp } from '../mail-app.ts'

/** A request to both profiles, and the answer that each of them must give. */
export interface OptionCase {
  /** Settings over those of all cases. Cases with the same settings share a service. */
  readonly settings?: Readonly<Record<string, string>>
  /** Sends requests, and returns what shows the behaviour. Cases share a database, so each makes users of its own. */
  observe(service: MailApp, profile: 'compatible' | 'supabase'): Promise<unknown>
  readonly compatible: unknown
  readonly supabase: unknown
}

/** The cases of some rows of the table. */
export type OptionCases = Readonly<Partial<Record<OptionName | keyof typeof SETTING_DEFAULTS, OptionCase>>>
