import { createHash, createHmac } from 'node:crypto'
import { join } from 'node:path'
import type { Environment } from './environment.ts'
import type { PortSetting } from './ports.ts'
import type { Secrets } from './secrets-file.ts'

/** The trusted proxies. Every client of the stack is on this machine, including a proxy that a developer may use. */
const LOOPBACK_NETWORKS = '127.0.0.0/8,::1'

/** The values from which the development defaults of a service are computed. */
interface ServiceContext {
  readonly env: Environment
  /** The URL of the service for a browser on this machine, without a trailing slash. */
  readonly url: string
  /** The URLs of all services by name, including services that are not started. */
  readonly urls: Readonly<Record<string, string>>
  readonly secrets: Secrets
  /** The port of the mail catcher's SMTP listener on 127.0.0.1. */
  readonly smtpPort: number
  /** The URL of the stack's home page, without a trailing slash. */
  readonly homeUrl: string
  /** The folder of the logs. `undefined` means the default folder in the checkout. */
  readonly movedLogDirectory: string | undefined
}

export interface ServiceDefinition {
  readonly name: string
  /** The prefix of its settings, for example `AUTH_`. */
  readonly prefix: string
  readonly portSetting: PortSetting
  /** An alternative name of this setting. */
  readonly portAlias?: string
  readonly hostSetting: string
  readonly metricsPortSetting: PortSetting
  /** The setting for its own database, instead of `DATABASE_URL`. `undefined` if the service has no database. */
  readonly databaseSetting?: string
  readonly sendsMail: boolean
  /** Returns the defaults of the service, in addition to those of all services. The settings of the user take precedence. */
  readonly defaults: (context: ServiceContext) => Environment
}

/** The services, in the order of display. */
export const services: readonly ServiceDefinition[] = [
  {
    name: 'inventory',
    prefix: 'INVENTORY_',
    portSetting: 'INVENTORY_PORT',
    hostSetting: 'INVENTORY_HOST',
    metricsPortSetting: 'INVENTORY_OTEL_EXPORTER_PROMETHEUS_PORT',
    databaseSetting: 'INVENTORY_DATABASE_URL',
    sendsMail: false,
    defaults: ({ movedLogDirectory, ...context }) => ({
      ...verifyingSettings('INVENTORY_', operatorContext(context)),
      // By default the file is in the checkout, which may be read-only if the data are elsewhere.
      ...(movedLogDirectory === undefined ? {} : { INVENTORY_LOG_FILE: join(movedLogDirectory, 'app.log') }),
    }),
  },
  {
    name: 'auth',
    prefix: 'AUTH_',
    portSetting: 'AUTH_API_PORT',
    portAlias: 'AUTH_PORT',
    hostSetting: 'AUTH_API_HOST',
    metricsPortSetting: 'AUTH_OTEL_EXPORTER_PROMETHEUS_PORT',
    databaseSetting: 'AUTH_DB_DATABASE_URL',
    sendsMail: true,
    defaults: ({ env, url, secrets, smtpPort, homeUrl }) => ({
      ...operatorSettings('AUTH_', { secret: secrets.TRESTLE_OPERATOR_KEY }),
      AUTH_SITE_URL: homeUrl,
      AUTH_API_EXTERNAL_URL: url,
      AUTH_DB_DRIVER: 'postgres',
      AUTH_JWT_SECRET: secrets.AUTH_JWT_SECRET,
      AUTH_JWT_KEYS: secrets.AUTH_JWT_KEYS,
      AUTH_SECURITY_DATABASE_ENCRYPTION_KEY: secrets.AUTH_SECURITY_DATABASE_ENCRYPTION_KEY,
      AUTH_SMTP_HOST: '127.0.0.1',
      AUTH_SMTP_PORT: String(smtpPort),
      AUTH_SMTP_ADMIN_EMAIL: 'auth@trestle.localhost',
      AUTH_SMTP_SENDER_NAME: 'Trestle',
      // A developer who repeats a sign-up gets another mail immediately and without a limit, as tests of a page require.
      AUTH_SMTP_MAX_FREQUENCY: '1s',
      AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
      // The strict profile limits requests by client address, so it must know the trusted proxies.
      ...(/^strict$/i.test(env.AUTH_PROFILE ?? '') && { AUTH_TRUSTED_PROXIES: LOOPBACK_NETWORKS }),
    }),
  },
  {
    name: 'payments',
    prefix: 'PAYMENTS_',
    portSetting: 'PAYMENTS_PORT',
    hostSetting: 'PAYMENTS_HOST',
    metricsPortSetting: 'PAYMENTS_OTEL_EXPORTER_PROMETHEUS_PORT',
    databaseSetting: 'PAYMENTS_DATABASE_URL',
    sendsMail: true,
    defaults: ({ env, url, urls, secrets, smtpPort }) => ({
      ...verifyingSettings('PAYMENTS_', operatorContext({ env, urls, secrets })),
      PAYMENTS_OPERATOR_REFUND_LIMIT: 'EUR:10000,DKK:75000',
      PAYMENTS_OPERATOR_REFUND_LIMIT_DAILY: 'EUR:50000,DKK:375000',
      PAYMENTS_BASE_URL: url,
      PAYMENTS_PEPPER: secrets.PAYMENTS_PEPPER,
      PAYMENTS_VAULT_KEYS: secrets.PAYMENTS_VAULT_KEYS,
      PAYMENTS_SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
      PAYMENTS_MAIL_FROM: 'payments@trestle.localhost',
      // Allow webhooks to a server on this machine, without a certificate.
      PAYMENTS_WEBHOOK_ALLOW_HTTP: 'true',
      PAYMENTS_WEBHOOK_ALLOWED_HOSTS: 'localhost,127.0.0.1,::1',
    }),
  },
  {
    name: 'console',
    prefix: 'CONSOLE_',
    portSetting: 'CONSOLE_PORT',
    hostSetting: 'CONSOLE_HOST',
    metricsPortSetting: 'CONSOLE_OTEL_EXPORTER_PROMETHEUS_PORT',
    sendsMail: false,
    defaults: ({ url, urls, secrets }) => ({
      CONSOLE_BASE_URL: url,
      CONSOLE_SECRET: secrets.CONSOLE_SECRET,
      CONSOLE_REQUIRE_MFA: 'no',
      ...Object.fromEntries(
        ['AUTH', 'PAYMENTS', 'INVENTORY'].flatMap((name) => [
          [`CONSOLE_${name}_URL`, urls[name.toLowerCase()] ?? ''],
          [`CONSOLE_${name}_KEYS`, keysOfConsole(secrets.TRESTLE_OPERATOR_KEY)],
        ]),
      ),
    }),
  },
]

function operatorContext({ env, urls, secrets }: Pick<ServiceContext, 'env' | 'urls' | 'secrets'>) {
  return { env, secret: secrets.TRESTLE_OPERATOR_KEY, authUrl: urls.auth ?? '' }
}

/** The roles of operators (console reference: Roles). */
const ROLES = ['viewer', 'support', 'admin'] as const

/** The email address of the first operator, whom `npm start` creates. */
export const FIRST_OPERATOR = 'operator@example.com'

/** Returns the operator key of a role. Each role has its own key. */
export function keyOf(secret: string, role: (typeof ROLES)[number]): string {
  return createHmac('sha256', secret).update(role).digest('base64url')
}

function keysOfConsole(secret: string): string {
  return ROLES.map((role) => `${role}:${keyOf(secret, role)}`).join(',')
}

/** Returns the digests of these keys in the format of a service's setting `…_OPERATOR_KEYS`. */
function digestsOfKeys(secret: string): string {
  return ROLES.map((role) => {
    const digest = createHash('sha256').update(keyOf(secret, role)).digest('hex')
    return `console-${role}:${role}:${digest}`
  }).join(',')
}

/** The settings about operators that a service depends on, and the URL of auth, which publishes the keys of their tokens. */
interface OperatorContext {
  readonly env: Environment
  readonly secret: string
  readonly authUrl: string
}

/**
 * Returns settings that let operators of the console work with a service. Developers sign in without a second factor.
 * @param prefix the prefix of the service's settings
 */
function operatorSettings(prefix: string, { secret }: Pick<OperatorContext, 'secret'>): Environment {
  return { [`${prefix}OPERATOR_KEYS`]: digestsOfKeys(secret), [`${prefix}OPERATOR_REQUIRE_MFA`]: 'no' }
}

/** Returns settings that let operators of the console work with a service that verifies tokens of auth by its published keys. */
function verifyingSettings(prefix: string, context: OperatorContext): Environment {
  const { env, authUrl } = context
  const issuer = env.AUTH_JWT_ISSUER || env.JWT_ISSUER || env.AUTH_API_EXTERNAL_URL || env.API_EXTERNAL_URL || authUrl
  return {
    ...operatorSettings(prefix, context),
    [`${prefix}OPERATOR_ISSUER`]: issuer,
    // A service accepts only one of the two settings.
    ...(env[`${prefix}OPERATOR_JWT_SECRET`]
      ? {}
      : { [`${prefix}OPERATOR_JWKS_URL`]: `${authUrl}/.well-known/jwks.json` }),
  }
}
