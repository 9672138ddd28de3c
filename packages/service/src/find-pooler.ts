import { connectOnce, keepsSettings } from '@trestle/database/wait-for-database.ts'

/** How a service reaches its database. */
export interface ServiceConnection {
  /** Name of the program, for example `auth`; its settings begin with `AUTH_`. */
  readonly program: string
  readonly url: string
  /** False if the service knows that a pooler in transaction mode stands between. */
  readonly prepared: boolean
}

/**
 * Finds a pooler in transaction mode that the service does not know of.
 * @returns an error that names the setting to change; undefined without such a pooler
 * @throws Error when the database does not answer
 */
export async function findPooler({ program, url, prepared }: ServiceConnection): Promise<Error | undefined> {
  if (!prepared) {
    await connectOnce(url)
    return undefined
  }
  if (await keepsSettings(url)) return undefined
  const setting = `${program.toUpperCase()}_DB_PREPARED`
  return new Error(`the database is behind a pooler that keeps no settings of a session: set ${setting}=false`)
}
