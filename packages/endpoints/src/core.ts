import type { Settings } from './config/settings.ts'
import type { Listeners } from './events.ts'
import type { ControllerApplication } from './request/endpoint-request.ts'
import type { ErrorLog } from './request/incoming.ts'
import type { RouteTable } from './routing/table.ts'

/** What answering a request needs of an application. */
export interface Core {
  readonly application: ControllerApplication
  readonly settings: Settings
  /** The current table. A reload replaces it. */
  table: RouteTable
  readonly listeners: Listeners
  readonly log: ErrorLog
}
