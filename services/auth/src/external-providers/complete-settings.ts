import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import {
  customProviderAddressRefused,
  customProviderFieldForeign,
  customProviderIssuerMissing,
  discoveryFailed,
} from '../external-errors.ts'
import { toFieldError } from '../field-errors.ts'
import { type CustomProviderChanges, CustomProviderSettings } from './custom-provider.ts'
import { describeFailure } from './describe-failure.ts'
import { discoverMetadata } from './discovery.ts'

const ADDRESSES = ['issuer', 'discovery_url', 'authorization_url', 'token_url', 'userinfo_url'] as const
const FOR_OIDC = ['issuer', 'discovery_url', 'id_token_signed_response_alg'] as const
const FOR_OAUTH2 = ['authorization_url', 'token_url', 'userinfo_url'] as const

export interface CompleteSettingsDeps {
  readonly outbound: Outbound
}

type WantedSettings = CustomProviderChanges & Pick<CustomProviderSettings, 'provider_type'>

/**
 * Checks the members that a type of provider needs, and adds the defaults. Fetches the metadata of an OpenID provider, also
 * where `wanted` has older ones.
 * @throws customProviderFieldForeign, customProviderAddressRefused, customProviderIssuerMissing, discoveryFailed,
 * and what `toFieldError` makes
 */
export async function completeSettings(
  { outbound }: CompleteSettingsDeps,
  wanted: WantedSettings,
): Promise<CustomProviderSettings> {
  const { provider_type: type } = wanted
  const foreign = (type === 'oidc' ? FOR_OAUTH2 : FOR_OIDC).find((name) => wanted[name] !== undefined)
  if (foreign) throw customProviderFieldForeign({ field: foreign, type })
  for (const name of ADDRESSES) {
    const url = wanted[name]
    if (url === undefined || outbound.mayCall({ url, origin: 'data' })) continue
    throw customProviderAddressRefused({ field: name })
  }
  const parsed = CustomProviderSettings.safeParse(type === 'oidc' ? await addMetadata(outbound, wanted) : wanted)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw toFieldError(issue?.path.join('.') ?? '', issue)
}

async function addMetadata(outbound: Outbound, wanted: WantedSettings): Promise<object> {
  const { issuer, discovery_url: discoveryUrl } = wanted
  if (issuer === undefined) throw customProviderIssuerMissing()
  try {
    return { ...wanted, discovery_document: await discoverMetadata(outbound, { issuer, discoveryUrl }) }
  } catch (error) {
    throw discoveryFailed({ cause: describeFailure(error) })
  }
}
