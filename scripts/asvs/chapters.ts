import { authorization, tokens } from './access.ts'
import { authentication } from './authentication.ts'
import { communication, cryptography } from './cryptography.ts'
import { architecture, dataProtection } from './data.ts'
import { encoding } from './encoding.ts'
import { frontend } from './frontend.ts'
import { interfaces, webrtc } from './interfaces.ts'
import { oauth } from './oauth.ts'
import { configuration, logging } from './operation.ts'
import type { Chapter } from './requirement.ts'
import { sessions } from './sessions.ts'
import { files, validation } from './validation.ts'

/** Every chapter of the standard, in its order. */
export const chapters: readonly Chapter[] = [
  ...[encoding, validation, frontend, interfaces, files, authentication, sessions, authorization, tokens, oauth],
  ...[cryptography, communication, configuration, dataProtection, architecture, logging, webrtc],
]
