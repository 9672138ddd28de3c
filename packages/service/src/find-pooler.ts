import { connectOnce, keepsSettings } from '@trestle/database/wait-for-database.ts'

/** How a service reaches its database. */
export interface ServiceConnection {
  /** Name of the program, for example `auth`; its settings begin with `AUTH_`. */
  readonly program: string
  readonly url: string
  /** False where a pooler in transaction mode is known to stand between. */
  readonly prepared: boolean
}

/** The error that says what to set, where a pooler in transaction mode stands between and the service is not told of it. */
export async function findPooler({ program, url, prepared }: ServiceConnection): Promise<Error | undefined> {
  if (!prepared) {
    await connectOnce(url)
    return undefined
  }
  if (await keepsSettings(url)) return undefined
  const setting = `${program.toUpperCase()}_DB_PREPARED`
  return new Error(`the database is behind a pooler that keeps no settings of a session: set ${setting}=false`)
}
