import { shutdownSettings, telemetrySettings } from '@trestle/common/config/process-settings.ts'
import {
  flag,
  integer,
  parsed,
  port,
  secret,
  secretBytes,
  text,
  trustedProxies,
  url,
} from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import { urlsOfHosts } from '@trestle/database/driver/hosts.ts'
import { databaseSettings, databaseUrl, standbySettings } from '@trestle/service/database-settings.ts'
import { readVaultKeys } from '../vault/vault-keys.ts'
import { operatorSettings, registrationSettings, signInSettings } from './access.ts'
import { acquiringSettings, postingSettings } from './acquiring.ts'
import { checkoutSettings } from './checkout.ts'
import { messageSettings } from './messages.ts'
import { pricingSettings } from './pricing.ts'
import { rateLimitSettings } from './rate-limits.ts'

/** The length of an AES-256 key and of the MAC key of API keys, in bytes before base64. */
export const KEY_BYTES = 32

const processSettings = group('Address and process', {
  PORT: port()
    .prefault('8082')
    .meta({ aliases: ['PORT'], description: 'Port of the API. 0 takes a free one.' }),
  HOST: text().prefault('127.0.0.1').describe('Address to bind.'),
  // Remove a slash at the end, because paths that begin with a slash are appended.
  BASE_URL: url()
    .transform((value) => value.replace(/\/+$/, ''))
    .describe("The service's own public address."),
  TRUSTED_PROXIES: trustedProxies()
    .prefault('0')
    .describe(
      'Proxies in front of the service that append to X-Forwarded-For: how many there are, or their addresses and networks, such as `10.0.0.0/8,fd00::/8`. The header is read from the right, as far as the proxies go. With 0, the address of the connection counts.',
    ),
  ...shutdownSettings,
})

const storageSettings = group('Database', {
  DATABASE_URL: databaseUrls().meta({
    aliases: ['DATABASE_URL'],
    description:
      'Connection of the service. Where Citus has distributed the database, it may lead to any server, and to several: each connection picks one that answers.',
  }),
  COORDINATOR_URL: databaseUrl()
    .optional()
    .describe(
      'Connection to the coordinator of a Citus cluster. Required when the connection of the service enters by another server, or by several.',
    ),
  ...databaseSettings,
  MIGRATION_DATABASE_URL: databaseSettings.MIGRATION_DATABASE_URL.describe(
    "Connection that may change the schema. `migrate`, the start of the service and the operator's commands use it. Default: the coordinator, or else the connection of the service.",
  ),
  DB_ROLE: databaseSettings.DB_ROLE.describe(
    'Role that the service works as. It has no right to change the schema, and changes money through functions only.',
  ),
  NODE_PASSWORD: secret(text())
    .optional()
    .describe(
      'Password that `payments distribute` gives the role of the service, `PAYMENTS_DB_ROLE`, on every server of a Citus cluster. The servers log in to each other with it, so it also stands in the password file of each. Not needed where they trust each other.',
    ),
  ...standbySettings,
  DB_POOL_SIZE: integer(0, 1_000)
    .prefault('16')
    .describe('Connections for writes. 0 means 16; more than 32 are slower.'),
})

const observationSettings = group('Logs, traces and metrics', {
  LOG_FILE: text().optional().describe('File that log lines are appended to, beside standard output.'),
  ...telemetrySettings({ metrics: 'true', exporter: 'prometheus', host: '127.0.0.1', port: '9101' }),
})

const keySettings = group('Keys', {
  PEPPER: secretBytes(KEY_BYTES).describe(
    'Key of the MACs that API keys are stored as. If it is lost, every API key is void.',
  ),
  VAULT_KEYS: vaultKeys().describe(
    'Keys that encrypt card numbers and secrets. The first one encrypts, all of them decrypt what they have encrypted.',
  ),
  DEV: flag()
    .prefault('false')
    .describe('Make keys that are missing at start, and forget them when the process ends. For development only.'),
})

/** All settings of the service, by name without the prefix PAYMENTS_. */
export const settings = {
  ...processSettings,
  ...storageSettings,
  ...keySettings,
  ...observationSettings,
  ...messageSettings,
  ...signInSettings,
  ...operatorSettings,
  ...registrationSettings,
  ...checkoutSettings,
  ...pricingSettings,
  ...acquiringSettings,
  ...postingSettings,
  ...rateLimitSettings,
} as const

function vaultKeys() {
  const problem = 'must be id:base64,… with ids 0 to 255 and keys of 32 bytes'
  return parsed(
    { form: 'list of `id:base64`', allowed: 'ids 0 to 255, keys of 32 bytes', secret: true, problem },
    readVaultKeys,
  )
}

/** A setting with the URL of a database, like `databaseUrl`, but with any number of hosts. */
function databaseUrls() {
  const problem = 'must be a postgres:// connection string, with one host or several'
  return parsed(
    { form: 'postgres:// URL', allowed: 'several hosts too, `a:5432,b:5432`', secret: true, problem },
    (value) =>
      /^postgres(ql)?:\/\//.test(value) && urlsOfHosts(value).every((url) => URL.canParse(url)) ? value : undefined,
  )
}
