import type { Settings } from './config/settings.ts'
import type { Listeners } from './events.ts'
import type { ControllerApplication } from './request/controller-application.ts'
import type { ErrorLog } from './request/incoming.ts'
import type { RouteTable } from './routing/table.ts'

/** The parts of an application that answer a request. */
export interface Core {
  readonly application: ControllerApplication
  readonly settings: Settings
  table: RouteTable
  readonly listeners: Listeners
  readonly log: ErrorLog
}
