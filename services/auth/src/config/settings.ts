import { databaseSettings } from './database.ts'
import { externalSettings } from './external.ts'
import { hookSettings } from './hooks.ts'
import { jwtSettings } from './jwt.ts'
import { mailSettings } from './mail.ts'
import { mfaSettings } from './mfa.ts'
import { operatorSettings } from './operators.ts'
import { profileSettings } from './profile.ts'
import { securitySettings } from './security.ts'
import { serverSettings, settingsWithoutEffect } from './server.ts'
import { passwordSettings, sessionSettings } from './sessions.ts'
import { signupSettings } from './signup.ts'
import { smsSettings } from './sms.ts'
import { webauthnSettings } from './webauthn.ts'

/** Every setting of the service, by its name without `AUTH_`. */
export const settings = {
  ...profileSettings,
  ...serverSettings,
  ...databaseSettings,
  ...jwtSettings,
  ...signupSettings,
  ...passwordSettings,
  ...sessionSettings,
  ...securitySettings,
  ...mfaSettings,
  ...webauthnSettings,
  ...operatorSettings,
  ...hookSettings,
  ...mailSettings,
  ...smsSettings,
  ...externalSettings,
  ...settingsWithoutEffect,
}
