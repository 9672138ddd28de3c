/**
 * The values that a program needs to use the running stack, by the names of environment variables. The names of keys and of the
 * database are the same as in `supabase status -o env`.
 */
const names = [
  'HOME_URL',
  'AUTH_URL',
  'PAYMENTS_URL',
  'INVENTORY_URL',
  'CONSOLE_URL',
  'CONSOLE_EMAIL',
  'CONSOLE_PASSWORD',
  'MAIL_URL',
  'MAIL_SMTP_URL',
  'DB_URL',
  'JWT_SECRET',
  'ANON_KEY',
  'SERVICE_ROLE_KEY',
  'AUTH_METRICS_URL',
  'PAYMENTS_METRICS_URL',
  'INVENTORY_METRICS_URL',
  'CONSOLE_METRICS_URL',
] as const

export type StatusName = (typeof names)[number]

/** The addresses and keys of a running stack. Parts that were not started are absent. */
export type StackStatus = Readonly<Partial<Record<StatusName, string>>>

/** Returns whether `status` prints a variable. Such a variable is not a setting. */
export function isStatusName(name: string): name is StatusName {
  return names.some((known) => known === name)
}

export function statusFrom(variables: Readonly<Record<string, string | undefined>>): StackStatus {
  return Object.fromEntries(names.flatMap((name) => (variables[name] ? [[name, variables[name]]] : [])))
}

export interface StartedParts {
  readonly homeUrl: string
  readonly services: readonly {
    /** The prefix of its settings, for example `AUTH_`. */
    readonly prefix: string
    readonly url: string
    /** `undefined` if metrics are disabled or pushed. */
    readonly metrics: { readonly port: number } | undefined
  }[]
  /** The ports of the mail catcher. `undefined` if no service sends mail. */
  readonly mail: { readonly web: number; readonly smtp: number } | undefined
  /** The database of all services. `undefined` if each service has its own database. */
  readonly databaseUrl: string | undefined
  /** The secret of auth. `undefined` if auth was not started. */
  readonly jwtSecret: string | undefined
  /** The first operator who can sign in to the console. `undefined` if the console or auth was not started. */
  readonly operator: { readonly email: string; readonly password: string } | undefined
  readonly now: Date
}

export async function collectStatus(parts: StartedParts): Promise<StackStatus> {
  const { homeUrl, services, mail, databaseUrl, jwtSecret, operator, now } = parts
  const ofServices = services.flatMap(({ prefix, url, metrics }) => [
    [`${prefix}URL`, url] as const,
    [`${prefix}METRICS_URL`, metrics && `http://localhost:${metrics.port}/metrics`] as const,
  ])
  return statusFrom({
    ...Object.fromEntries(ofServices),
    HOME_URL: homeUrl,
    MAIL_URL: mail && `http://localhost:${mail.web}`,
    MAIL_SMTP_URL: mail && `smtp://localhost:${mail.smtp}`,
    DB_URL: databaseUrl,
    CONSOLE_EMAIL: operator?.email,
    CONSOLE_PASSWORD: operator?.password,
    ...(jwtSecret === undefined ? {} : await apiKeys(jwtSecret, now)),
  })
}

const KEY_YEARS = 10

/**
 * Returns the tokens that clients of supabase send as keys: the token of a client that is not signed in, and the token of a
 * server with all rights. They expire at the start of a year, so all starts in one year generate the same tokens.
 */
async function apiKeys(secret: string, now: Date) {
  const { SignJWT } = await import('jose')
  const end = new Date(Date.UTC(now.getUTCFullYear() + KEY_YEARS, 0, 1))
  const sign = (role: string) =>
    new SignJWT({ role })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setExpirationTime(end)
      .sign(new TextEncoder().encode(secret))
  return { JWT_SECRET: secret, ANON_KEY: await sign('anon'), SERVICE_ROLE_KEY: await sign('service_role') }
}
