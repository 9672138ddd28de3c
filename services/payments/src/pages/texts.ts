import da from './languages/da.json' with { type: 'json' }
import de from './languages/de.json' with { type: 'json' }
import en from './languages/en.json' with { type: 'json' }
import es from './languages/es.json' with { type: 'json' }
import fi from './languages/fi.json' with { type: 'json' }
import fr from './languages/fr.json' with { type: 'json' }
import it from './languages/it.json' with { type: 'json' }
import nb from './languages/nb.json' with { type: 'json' }
import nl from './languages/nl.json' with { type: 'json' }
import pl from './languages/pl.json' with { type: 'json' }
import pt from './languages/pt.json' with { type: 'json' }
import sv from './languages/sv.json' with { type: 'json' }

export const texts = { en, da, de, sv, nb, fi, fr, es, it, nl, pl, pt } as const satisfies Record<string, typeof en>

/** A language of the payment page, as in BCP 47. */
export type Language = keyof typeof texts
/** The name of a text. Every language has all of them. */
export type TextName = keyof typeof en

/** Writes a text with values in place of its `{names}`. */
export type Translate = (name: TextName, values?: Readonly<Record<string, string>>) => string

export function translatorOf(language: Language): Translate {
  return (name, values = {}) => texts[language][name].replaceAll(/\{(\w+)\}/g, (all, key: string) => values[key] ?? all)
}
