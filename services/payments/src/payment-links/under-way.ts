import { z } from 'zod'
import { fingerprintOf } from '../access/fingerprint.ts'
import { decryptToken } from '../vault/card-token.ts'
import type { CheckoutCiphers, TextCipher } from '../vault/encryption.ts'
import type { PanVault } from '../vault/pan-vault.ts'
import { TokenizedCard } from './card-form.ts'

const Content = z.object({ card: TokenizedCard, expiry: z.string() })

/** A payment whose customer is at the bank. The customer's browser keeps it, encrypted. */
export type UnderWay = z.output<typeof Content>

/** The page where the card was entered. It is not accepted for another page or another link. */
export interface CardPlace {
  /** Names a rendering of the page. */
  readonly pageId: string
  /** The query of its link. */
  readonly query: string
}

/** Encrypts a payment that is under way for the cookie of a browser. Only the page and link of `place` open it. */
export function encryptUnderWay(frames: TextCipher, underWay: UnderWay, place: CardPlace): string {
  return frames.encrypt(underWay, placeOf(place))
}

/** Undefined unless this service encrypted the text for this place. */
export function decryptUnderWay(frames: TextCipher, text: string, place: CardPlace): UnderWay | undefined {
  return Content.safeParse(frames.decrypt(text, placeOf(place))).data
}

/**
 * The same card under the same link, as the body that the key of a page is compared with. The id of a page stands in addresses
 * and histories, so a page that was paid shows its receipt only for the card that has paid.
 */
export function fingerprintOfCard(
  { ciphers, vault }: { readonly ciphers: Pick<CheckoutCiphers, 'tokens'>; readonly vault: Pick<PanVault, 'macs'> },
  query: string,
  { number, expiry }: TokenizedCard,
): Buffer {
  const opened = decryptToken(ciphers.tokens, number, 'pcn')
  const [mac] = opened.verdict === 'opened' ? vault.macs(opened.token.value) : []
  return fingerprintOf({ query, card: mac?.toString('base64url'), expiry })
}

function placeOf({ pageId, query }: CardPlace): string {
  return `under-way/${pageId}?${query}`
}
