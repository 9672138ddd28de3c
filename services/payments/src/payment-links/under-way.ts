import { z } from 'zod'
import { fingerprintOf } from '../access/fingerprint.ts'
import { openToken } from '../vault/card-token.ts'
import type { PanVault } from '../vault/pan-vault.ts'
import type { CheckoutSeals, TextSeal } from '../vault/seal.ts'
import { TokenizedCard } from './card-form.ts'

const Content = z.object({ card: TokenizedCard, expiry: z.string() })

/** A payment whose customer is at the bank. The customer's browser keeps it, sealed. */
export type UnderWay = z.output<typeof Content>

/** The page where the card was entered. It is not accepted for another page or another link. */
export interface CardPlace {
  /** Names a rendering of the page. */
  readonly pageId: string
  /** The query of its link. */
  readonly query: string
}

/** Seals a payment that is under way for the cookie of a browser. Only the page and link of `place` open it. */
export function sealUnderWay(frames: TextSeal, underWay: UnderWay, place: CardPlace): string {
  return frames.seal(underWay, placeOf(place))
}

/** Undefined unless this service sealed the text for this place. */
export function openUnderWay(frames: TextSeal, text: string, place: CardPlace): UnderWay | undefined {
  return Content.safeParse(frames.open(text, placeOf(place))).data
}

/**
 * The same card under the same link, as the body that the key of a page is compared with. The id of a page stands in addresses
 * and histories, so a page that was paid shows its receipt only for the card that has paid.
 */
export function fingerprintOfCard(
  { seals, vault }: { readonly seals: Pick<CheckoutSeals, 'tokens'>; readonly vault: Pick<PanVault, 'macs'> },
  query: string,
  { number, expiry }: TokenizedCard,
): Buffer {
  const opened = openToken(seals.tokens, number, 'pcn')
  const [mac] = opened.verdict === 'opened' ? vault.macs(opened.token.value) : []
  return fingerprintOf({ query, card: mac?.toString('base64url'), expiry })
}

function placeOf({ pageId, query }: CardPlace): string {
  return `under-way/${pageId}?${query}`
}
