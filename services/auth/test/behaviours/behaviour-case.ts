import type { BehaviourName, SETTING_DEFAULTS } from '../../src/config/behaviours.ts'
import type { MailApp } from '../mail-app.ts'

/** What both profiles are asked, and what each of them must answer. */
export interface BehaviourCase {
  /** Settings over those of all cases. Cases with the same settings share a service. */
  readonly settings?: Readonly<Record<string, string>>
  /** Sends requests, and returns what shows the behaviour. Cases share a database, so each makes users of its own. */
  observe(service: MailApp, profile: 'compatible' | 'supabase'): Promise<unknown>
  readonly compatible: unknown
  readonly supabase: unknown
}

/** The cases of some rows of the table. */
export type BehaviourCases = Readonly<Partial<Record<BehaviourName | keyof typeof SETTING_DEFAULTS, BehaviourCase>>>
