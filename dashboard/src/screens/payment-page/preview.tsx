import { SimpleGrid, Stack, Text } from '@mantine/core'
import { Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import type { BrandingView } from '../../types.ts'
import { words } from './text.ts'

const defaultColors = {
  light: { background: '#e9f0ee', card: '#ffffff', text: '#12211d', color: '#0b7a6f', on: '#ffffff' },
  dark: { background: '#0d1211', card: '#1a2220', text: '#eef4f2', color: '#3cc4ad', on: '#04211c' },
}

/** The saved color in both themes, as the service derived it, with the chosen logo. */
export function Preview({ branding: { color, shades }, logo }: { branding: BrandingView; logo: string | null }) {
  const t = useText(words)
  const format = useFormat()
  const themes = ['light', 'dark'] as const
  const adjusted = themes.filter((theme) => shades && shades[theme].color !== color)
  return (
    <Section title={t.preview}>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {themes.map((theme) => {
          const shown = { ...defaultColors[theme], ...shades?.[theme] }
          return (
            <div key={theme} style={{ background: shown.background, borderRadius: 12, padding: 12 }}>
              {logo !== null && (
                <img
                  src={logo}
                  alt=""
                  style={{ display: 'block', maxWidth: '100%', maxHeight: 40, margin: '0 auto 12px' }}
                />
              )}
              <Stack gap={4} p="sm" style={{ background: shown.card, color: shown.text, borderRadius: 12 }}>
                <Text size="sm" fw={600} style={{ color: shown.color }}>
                  {t.payWithPix}
                </Text>
                <Text fw={700} size="lg">
                  {format.money(2590)}
                </Text>
                <div
                  style={{
                    ...{ background: shown.color, color: shown.on, borderRadius: 8, padding: '8px 4px' },
                    ...{ textAlign: 'center', fontWeight: 600, fontSize: 13 },
                  }}
                >
                  {t.copy}
                </div>
              </Stack>
            </div>
          )
        })}
      </SimpleGrid>
      {adjusted.map((theme) => (
        <Text key={theme} size="sm" c="dimmed" mt="sm">
          {t.adjusted(t.themes[theme], shades?.[theme].color ?? '')}
        </Text>
      ))}
    </Section>
  )
}
