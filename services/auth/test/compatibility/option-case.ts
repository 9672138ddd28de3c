import type { OptionName, SETTING_DEFAULTS } from '../../src/config/compatibility.ts'
import type { MailApp } from '../mail-app.ts'

/** Requests to both profiles, and the expected result of each. */
export interface OptionCase {
  /** Additional settings. Cases with the same settings share a service. */
  readonly settings?: Readonly<Record<string, string>>
  /** Sends requests and returns the observed behaviour. Cases share a database, so each creates its own users. */
  observe(service: MailApp, profile: 'compatible' | 'supabase'): Promise<unknown>
  readonly compatible: unknown
  readonly supabase: unknown
}

/** The cases for some rows of the table. */
export type OptionCases = Readonly<Partial<Record<OptionName | keyof typeof SETTING_DEFAULTS, OptionCase>>>
