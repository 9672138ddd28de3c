import { keepsSettings } from '@trestle/database/session-check.ts'

/** How a service reaches its database. */
export interface ServiceConnection {
  /** Name of the program, for example `auth`; its settings begin with `AUTH_`. */
  readonly program: string
  readonly url: string
  /** False where a pooler in transaction mode is known to stand between. */
  readonly prepared: boolean
}

/** @throws Error that says what to set, where a pooler in transaction mode stands between and the service is not told of it */
export async function requireSession({ program, url, prepared }: ServiceConnection): Promise<void> {
  if (!prepared || (await keepsSettings(url))) return
  const setting = `${program.toUpperCase()}_DB_PREPARED`
  throw new Error(`the database is behind a pooler that keeps no settings of a session: set ${setting}=false`)
}
