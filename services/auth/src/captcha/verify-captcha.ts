import type { Outbound, OutboundAnswer } from '@trestle/common/outbound/outbound.ts'
import { z } from 'zod'
import type { CaptchaConfig } from '../config/security.ts'
import { captchaFailed, captchaUnreachable } from '../errors.ts'

const answerSchema = z.object({ success: z.boolean(), 'error-codes': z.array(z.string()).optional() })

/**
 * Asks the provider whether a token is good (reference: Captcha). A provider accepts a token once, so nothing is tried
 * again.
 * @param address the client's address
 * @throws captchaFailed, captchaUnreachable
 */
export async function verifyCaptcha(
  outbound: Outbound,
  config: CaptchaConfig,
  token: string | undefined,
  address: string,
): Promise<void> {
  if (!token) throw captchaFailed()
  const answer = parseAnswer(await ask(outbound, config, { secret: config.secret, response: token, remoteip: address }))
  if (answer.success) return
  const codes = answer['error-codes']?.join(', ') ?? ''
  throw captchaFailed({ message: `captcha protection: request disallowed (${codes})` })
}

async function ask(
  outbound: Outbound,
  { url, timeoutMs }: CaptchaConfig,
  form: Readonly<Record<string, string>>,
): Promise<OutboundAnswer> {
  try {
    return await outbound.send({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
      timeoutMs,
      origin: 'operator',
    })
  } catch (cause) {
    throw captchaUnreachable({ cause })
  }
}

/** A provider refuses with 200 or 400; other statuses are not its verdict, whatever the body says. */
function parseAnswer({ status, body }: OutboundAnswer): z.output<typeof answerSchema> {
  try {
    if (status !== 200 && status !== 400) throw new Error(`the captcha provider answered ${status}`)
    return answerSchema.parse(JSON.parse(body))
  } catch (cause) {
    throw captchaUnreachable({ cause })
  }
}
