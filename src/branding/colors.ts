/** A color for buttons and headings, and one for text on it. */
export type Shade = { color: string; on: string }
export type Shades = Record<'light' | 'dark', Shade>

/** WCAG 2.2 AA (1.4.3), for normal text. */
const contrastMin = 4.5
/** The page's own background and text colors (pay/style.ts). */
const backgrounds = { light: '#ffffff', dark: '#1a2220' } as const
const textColors = ['#ffffff', '#04211c'] as const

type Rgb = [number, number, number]

/**
 * The shades of a merchant's color that can be read in both themes: as a heading on the background, and behind the text
 * of a button. No single color can be both on white and on near-black, so each theme has its own: the color itself
 * where it has enough contrast, otherwise the nearest darker or lighter one.
 */
export function toShades(color: string): Shades {
  return { light: toShade(color, 'light'), dark: toShade(color, 'dark') }
}

function toShade(color: string, theme: 'light' | 'dark'): Shade {
  const towards: Rgb = theme === 'light' ? [0, 0, 0] : [255, 255, 255]
  const start = toRgb(color)
  for (let step = 0; step <= 100; step++) {
    const mixed = toHex(start.map((part, index) => part + ((towards[index] ?? 0) - part) * (step / 100)) as Rgb)
    const on = textColors.find((text) => contrast(mixed, text) >= contrastMin)
    if (on !== undefined && contrast(mixed, backgrounds[theme]) >= contrastMin) return { color: mixed, on }
  }
  // Black on white and white on near-black have more than enough.
  return theme === 'light' ? { color: '#000000', on: textColors[0] } : { color: '#ffffff', on: textColors[1] }
}

/** The contrast of two colors as WCAG defines it: from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [lighter = 0, darker = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = toRgb(color).map((part) => {
    const value = part / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function toRgb(color: string): Rgb {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)) as Rgb
}

function toHex(rgb: Rgb): string {
  return `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`
}
