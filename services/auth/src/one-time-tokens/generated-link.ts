import { z } from 'zod'
import type { Behaviours } from '../config/behaviours.ts'
import type { Profile } from '../users/profile-repository.ts'
import { UserView, viewUser } from '../users/user-view.ts'
import { LINK_TYPES, type LinkType } from './link-type.ts'

/** A link and a code, which an admin sends by other means than our mail. */
export interface GeneratedLink extends Profile {
  readonly url: string
  /** The token of the link, as the link shows it. */
  readonly token: string
  readonly code: string
  /** `type` of the link. */
  readonly linkType: string
  /** The type that was made: a magic link for an unknown address becomes a sign-up. */
  readonly verificationType: LinkType
}

/** The user and the link in one object (reference: Generated links). */
export const GeneratedLinkView = UserView.extend({
  action_link: z.string(),
  email_otp: z.string(),
  hashed_token: z.string().meta({ description: 'The token in the link' }),
  verification_type: z.enum(LINK_TYPES),
  redirect_to: z.string(),
  token: z.string().optional(),
  type: z.string().optional(),
})

/** The form in which an admin sees a link. @param redirectTo where the link ends */
export function viewGeneratedLink(
  link: GeneratedLink,
  redirectTo: string,
  behaviours: Pick<Behaviours, 'keepSentTimesOfChanges' | 'showGeneratedLinkToken'>,
): z.output<typeof GeneratedLinkView> {
  const { url: action_link, code: email_otp, token, verificationType: verification_type, linkType: type } = link
  const secrets = { action_link, email_otp, hashed_token: token, verification_type }
  const tokenMembers = behaviours.showGeneratedLinkToken ? { token, type } : {}
  return { ...viewUser(link, behaviours), ...secrets, redirect_to: redirectTo, ...tokenMembers }
}
