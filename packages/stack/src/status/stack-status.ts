/**
 * The values that a program needs to use the running stack, by names for its environment. The names of keys and of the database
 * are those of `supabase status -o env`.
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

/** A name that `npm start -- status -o env` prints. */
export type StatusName = (typeof names)[number]

/** The addresses and keys of a running stack. What was not started is missing. */
export type StackStatus = Readonly<Partial<Record<StatusName, string>>>

/** Whether a variable is one of those that `status` prints, and so no setting. */
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
    /** Undefined when metrics are off or pushed. */
    readonly metrics: { readonly port: number } | undefined
  }[]
  /** The ports of the mail catcher. Undefined when no service sends mail. */
  readonly mail: { readonly web: number; readonly smtp: number } | undefined
  /** The database of all services. Undefined when each has one of its own. */
  readonly databaseUrl: string | undefined
  /** The secret of auth. Undefined when auth was not started. */
  readonly jwtSecret: string | undefined
  /** The operator who signs in to the console first. Undefined when the console or auth was not started. */
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
 * The tokens that clients of supabase send as keys: of a client that is not signed in, and of a server that may do everything.
 * They end with a year, so that all starts of a year make the same ones.
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
