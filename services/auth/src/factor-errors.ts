import { defineError } from '@trestle/common/errors/define-error.ts'
import { BEARER_CHALLENGE } from './errors.ts'

// The part of the catalogue in errors.ts about second factors and passkeys (reference: Error codes).

export const factorNotFound = defineError(404, 'mfa_factor_not_found', 'Factor not found')
export const anonymousNotAllowed = defineError(
  403,
  'no_authorization',
  'Anonymous user not allowed to perform these actions',
)
export const enrolNeedsSecondFactor = defineError(403, 'insufficient_aal', 'AAL2 required to enroll a new factor')
export const unenrolNeedsSecondFactor = defineError(
  422,
  'insufficient_aal',
  'AAL2 required to unenroll verified factor',
)
export const phoneFactorExists = defineError(
  422,
  'mfa_verified_factor_exists',
  'A verified phone factor already exists, unenroll the existing factor to continue',
)
export const tooManyFactors = defineError(
  422,
  'too_many_enrolled_mfa_factors',
  'Maximum number of verified factors reached, unenroll to continue',
)
export const totpEnrolDisabled = defineError(422, 'mfa_totp_enroll_not_enabled', 'MFA enroll is disabled for TOTP')
export const totpVerifyDisabled = defineError(
  422,
  'mfa_totp_verify_not_enabled',
  'MFA verification is disabled for TOTP',
)
export const phoneEnrolDisabled = defineError(422, 'mfa_phone_enroll_not_enabled', 'MFA enroll is disabled for Phone')
export const phoneVerifyDisabled = defineError(
  422,
  'mfa_phone_verify_not_enabled',
  'MFA verification is disabled for Phone',
)
export const webauthnEnrolDisabled = defineError(
  422,
  'mfa_webauthn_enroll_not_enabled',
  'MFA enroll is disabled for WebAuthn',
)
export const webauthnVerifyDisabled = defineError(
  422,
  'mfa_webauthn_verify_not_enabled',
  'MFA verification is disabled for WebAuthn',
)
export const challengeNotFound = defineError(
  422,
  'mfa_factor_not_found',
  'MFA factor with the provided challenge ID not found',
)
export const challengeMismatch = defineError(
  422,
  'mfa_ip_address_mismatch',
  'Challenge and verify IP addresses mismatch.',
)
export const challengeExpired = defineError(
  422,
  'mfa_challenge_expired',
  ({ id }: { readonly id: string }) =>
    `MFA challenge ${id} has expired, verify against another challenge or create a new challenge.`,
)
export const totpCodeWrong = defineError(422, 'mfa_verification_failed', 'Invalid TOTP code entered')
export const phoneFactorCodeWrong = defineError(422, 'mfa_verification_failed', 'Invalid MFA Phone code entered')
export const recoveryEnrolDisabled = defineError(
  422,
  'mfa_recovery_codes_enroll_not_enabled',
  'MFA enroll is disabled for recovery codes',
)
export const recoveryVerifyDisabled = defineError(
  422,
  'mfa_recovery_codes_verify_not_enabled',
  'MFA verification is disabled for recovery codes',
)
export const recoveryCodesAlone = defineError(
  422,
  'mfa_recovery_codes_sole_factor',
  'Recovery codes need another verified factor beside them',
)
export const recoveryCodesExist = defineError(
  422,
  'mfa_verified_factor_exists',
  'Recovery codes already exist, regenerate them instead',
)
export const recoveryCodesLocked = defineError(
  429,
  'mfa_recovery_codes_locked',
  'Too many wrong recovery codes, please retry later',
)
export const recoveryCodeWrong = defineError(422, 'mfa_verification_failed', 'Invalid recovery code entered')
export const webauthnFactorWrong = defineError(422, 'mfa_verification_failed', 'Invalid WebAuthn response')
export const factorNameTaken = defineError(
  422,
  'mfa_factor_name_conflict',
  ({ name }: { readonly name: string }) => `A factor with the friendly name "${name}" for this user already exists`,
)
export const friendlyNameMissing = defineError(400, 'validation_failed', 'friendly_name may not be empty')
export const friendlyNameTooLong = defineError(
  400,
  'validation_failed',
  ({ max }: { readonly max: number }) => `friendly_name may not be longer than ${max} characters`,
)
export const issuerTooLong = defineError(
  400,
  'validation_failed',
  ({ max }: { readonly max: number }) => `issuer may not be longer than ${max} characters`,
)
export const factorTypeUnsupported = defineError(
  400,
  'validation_failed',
  'factor_type needs to be totp, phone, or webauthn',
)
export const factorPhoneMissing = defineError(400, 'validation_failed', 'Phone number required to enroll Phone factor')
export const factorCodeMissing = defineError(400, 'validation_failed', 'Code needs to be non-empty')

export const ssoPasskey = defineError(422, 'validation_failed', 'SSO users cannot register passkeys')
export const ssoIdentity = defineError(422, 'validation_failed', 'SSO users cannot link identities')
export const passkeysNeedSecondFactor = defineError(
  403,
  'insufficient_aal',
  'AAL2 session is required to manage passkeys when MFA is enabled',
)
export const identitiesNeedSecondFactor = defineError(
  403,
  'insufficient_aal',
  'AAL2 session is required to manage identities when MFA is enabled',
)
export const secondFactorNeeded = defineError(
  401,
  'insufficient_aal',
  'AAL2 session is required to update email or password when MFA is enabled.',
  {
    'www-authenticate': `${BEARER_CHALLENGE['www-authenticate']}, error="insufficient_user_authentication", acr_values="aal2"`,
  },
)
export const adminNeedsSecondFactor = defineError(
  403,
  'insufficient_aal',
  'AAL2 session is required to administer when MFA is enabled',
)
export const passkeyNotFound = defineError(404, 'webauthn_credential_not_found', 'Passkey not found')
export const passkeyChallengeNotFound = defineError(400, 'webauthn_challenge_not_found', 'WebAuthn challenge not found')
export const passkeyChallengeExpired = defineError(
  400,
  'webauthn_challenge_expired',
  'WebAuthn challenge has expired, please start again',
)
export const passkeyRefused = defineError(
  400,
  'webauthn_verification_failed',
  'WebAuthn response could not be verified',
)
export const passkeyExists = defineError(422, 'webauthn_credential_exists', 'This passkey is registered already')
export const tooManyPasskeys = defineError(
  422,
  'too_many_passkeys',
  'Maximum number of passkeys reached, delete one to continue',
)
