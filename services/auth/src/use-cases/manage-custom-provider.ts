import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import type { AuthDeps } from '../deps.ts'
import {
  customProviderAddressRefused,
  customProviderChanged,
  customProviderExists,
  customProviderFieldForeign,
  customProviderIssuerMissing,
  customProviderNotFound,
  discoveryFailed,
  tooManyCustomProviders,
} from '../external-errors.ts'
import {
  type CustomProviderChanges,
  CustomProviderSettings,
  type NewCustomProvider,
} from '../external-providers/custom-provider.ts'
import {
  type CustomProvider,
  countLockedProviders,
  deleteCustomProvider,
  findCustomProvider,
  insertCustomProvider,
  updateCustomProvider,
} from '../external-providers/custom-provider-repository.ts'
import { describeFailure } from '../external-providers/describe-failure.ts'
import { discoverMetadata } from '../external-providers/discovery.ts'
import { fieldText } from '../field-errors.ts'
import { fieldInvalid } from '../request-errors.ts'
import { sealSecret } from '../secrets/sealed-secret.ts'

type ManageCustomProviderDeps = Pick<
  AuthDeps,
  'config' | 'db' | 'names' | 'now' | 'randomBytes' | 'encryptionKeys' | 'outbound'
>

const ADDRESSES = ['issuer', 'discovery_url', 'authorization_url', 'token_url', 'userinfo_url'] as const
const FOR_OIDC = ['issuer', 'discovery_url'] as const
const FOR_OAUTH2 = ['authorization_url', 'token_url', 'userinfo_url'] as const

type WantedProvider = z.output<typeof CustomProviderChanges>

/**
 * Adds a provider (reference: Custom providers).
 * @throws customProviderFieldForeign, customProviderAddressRefused, customProviderIssuerMissing, discoveryFailed,
 * fieldInvalid, customProviderExists, tooManyCustomProviders
 */
export async function createCustomProvider(
  deps: ManageCustomProviderDeps,
  { identifier, client_secret: secret, ...wanted }: z.output<typeof NewCustomProvider>,
): Promise<CustomProvider> {
  const settings = await completeSettings(deps, wanted)
  const id = randomUUID()
  const sealed = sealSecret(deps, id, secret)
  const { providersMax } = deps.config.external.custom
  const { names, db } = deps
  return db.transaction().execute(async (trx) => {
    const count = await countLockedProviders(trx, `${names.schema}.${names.prefix}custom_oauth_providers`)
    if (await findCustomProvider(trx, identifier)) throw customProviderExists()
    if (providersMax > 0 && count >= providersMax) throw tooManyCustomProviders()
    return insertCustomProvider(trx, { id, identifier, secret: sealed, settings }, deps.now())
  })
}

/**
 * Changes a provider. Members that are not given stay. The type and the identifier can never change: identities name the
 * identifier, and their ids are those of that type of provider.
 * @throws customProviderFieldForeign, customProviderAddressRefused, customProviderIssuerMissing, discoveryFailed,
 * fieldInvalid, customProviderNotFound, customProviderChanged
 */
export async function changeCustomProvider(
  deps: Pick<AuthDeps, 'db' | 'now' | 'randomBytes' | 'encryptionKeys' | 'outbound'>,
  identifier: string,
  { client_secret: secret, ...wanted }: WantedProvider,
): Promise<CustomProvider> {
  const found = await getCustomProvider(deps, identifier)
  const { discovery_document: _document, ...stored } = { discovery_document: undefined, ...found.settings }
  const settings = await completeSettings(deps, { ...stored, ...omitAbsent(wanted) })
  const sealed = secret === undefined ? found.secret : sealSecret(deps, found.id, secret)
  const changed = await updateCustomProvider(deps.db, found, { secret: sealed, settings }, deps.now())
  if (!changed) throw customProviderChanged()
  return changed
}

/** A custom provider, enabled or not. Its secret stays sealed. @throws customProviderNotFound */
export async function getCustomProvider({ db }: Pick<AuthDeps, 'db'>, identifier: string): Promise<CustomProvider> {
  const found = await findCustomProvider(db, identifier)
  if (!found) throw customProviderNotFound()
  return found
}

/** Deletes a provider. Its identities stay, but nobody can sign in by them. @throws customProviderNotFound */
export async function removeCustomProvider({ db }: Pick<AuthDeps, 'db'>, identifier: string): Promise<void> {
  if (!(await deleteCustomProvider(db, identifier))) throw customProviderNotFound()
}

/**
 * Checks the members that a type of provider needs, and fetches the metadata of an OpenID provider.
 * @throws customProviderFieldForeign, customProviderAddressRefused, customProviderIssuerMissing, discoveryFailed,
 * fieldInvalid
 */
async function completeSettings(
  deps: Pick<AuthDeps, 'outbound'>,
  wanted: WantedProvider & { readonly provider_type: CustomProviderSettings['provider_type'] },
): Promise<CustomProviderSettings> {
  const { provider_type: type } = wanted
  const foreign = (type === 'oidc' ? FOR_OAUTH2 : FOR_OIDC).find((name) => wanted[name] !== undefined)
  if (foreign) throw customProviderFieldForeign({ field: foreign, type })
  for (const name of ADDRESSES) {
    const url = wanted[name]
    if (url === undefined || deps.outbound.mayCall({ url, origin: 'data' })) continue
    throw customProviderAddressRefused({ field: name })
  }
  const parsed = CustomProviderSettings.safeParse(type === 'oidc' ? await addMetadata(deps, wanted) : wanted)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw fieldInvalid({ field: issue?.path.join('.') ?? '', problem: fieldText(issue) })
}

async function addMetadata(deps: Pick<AuthDeps, 'outbound'>, wanted: WantedProvider): Promise<object> {
  const { issuer, discovery_url: discoveryUrl } = wanted
  if (issuer === undefined) throw customProviderIssuerMissing()
  try {
    return { ...wanted, discovery_document: await discoverMetadata(deps.outbound, { issuer, discoveryUrl }) }
  } catch (error) {
    throw discoveryFailed({ cause: describeFailure(error) })
  }
}

function omitAbsent(wanted: WantedProvider): WantedProvider {
  return Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined))
}
