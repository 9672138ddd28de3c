import { customProviderInUse } from '../external-errors.ts'
import type { CustomProviderSettings } from './custom-provider.ts'

/** The meaning of the subjects of a provider: the issuer within which they are unique, and the claim that they are. */
export interface Subjects {
  readonly issuer: string
  readonly claim: string
}

/** The issuer of a custom provider, or the origin that answers who has signed in. */
export function customIssuerOf(settings: CustomProviderSettings): string {
  return settings.provider_type === 'oidc' ? settings.discovery_document.issuer : new URL(settings.userinfo_url).origin
}

/** The meaning of the subjects of a custom provider. */
export function subjectsOf(settings: CustomProviderSettings): Subjects {
  return { issuer: customIssuerOf(settings), claim: settings.attribute_mapping.sub ?? 'sub' }
}

/** Whether the same subject is the same account at both providers (OpenID Connect Core, section 2). */
export function sharesSubjects(one: Subjects, other: Subjects): boolean {
  return one.issuer === other.issuer && one.claim === other.claim
}

/** Refuses settings by which the subjects of identities would be other people. @throws customProviderInUse */
export function refuseOtherSubjects(): never {
  throw customProviderInUse()
}
