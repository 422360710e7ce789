import {
  Alert,
  Button,
  Checkbox,
  Code,
  ColorInput,
  ColorSwatch,
  FileButton,
  Group,
  Image,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { fieldErrorsOf, request, withQuery } from '../../api.ts'
import { RequireMerchant } from '../../components/choose-merchant.tsx'
import { CopyAction } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { ActionForm, useMutationForm } from '../../components/form.tsx'
import { Page, Section } from '../../components/page.tsx'
import { useText } from '../../text.ts'
import type { BrandingView } from '../../types.ts'
import { toLogo } from './logo.ts'
import { Preview } from './preview.tsx'
import { words } from './text.ts'

/** The color of a page without its own. */
const standardColor = '#0b7a6f'

/** How a merchant's payment page looks, and where it may be shown. */
export default function PaymentPageScreen() {
  const t = useText(words)
  return <RequireMerchant title={t.title}>{(client) => <Branding client={client} />}</RequireMerchant>
}

function Branding({ client }: { client: string }) {
  const t = useText(words)
  const path = withQuery('/branding', { clientId: client })
  const branding = useQuery({
    queryKey: ['branding', client],
    queryFn: async () => await request<BrandingView>('GET', path),
    // The form must not change while the user edits it.
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <Page title={t.title} lead={t.lead}>
      {branding.isError && <ErrorNotice error={branding.error} onRetry={() => void branding.refetch()} />}
      {branding.isPending && <Skeleton height={420} />}
      {branding.data && <BrandingForm client={client} path={path} branding={branding.data} />}
    </Page>
  )
}

function BrandingForm({ client, path, branding }: { client: string; path: string; branding: BrandingView }) {
  const t = useText(words)
  const queries = useQueryClient()
  // The time of the version that the form shows: if there is a newer one, the service refuses the change.
  const [changedAt, setChangedAt] = useState(branding.changedAt)
  const saving = useMutationForm({
    initialValues: {
      color: branding.color ?? '',
      shopUrl: branding.shopUrl ?? '',
      embedOrigins: branding.embedOrigins.join('\n'),
      showsItems: branding.showsItems,
      logo: branding.logo,
    },
    send: async ({ color, shopUrl, embedOrigins, showsItems, logo }) =>
      await request<BrandingView>('PUT', path, {
        ...{ color: color.trim() || null, shopUrl: shopUrl.trim() || null, showsItems, changedAt },
        ...{ embedOrigins: embedOrigins.split(/\s+/).filter(Boolean), logo: logo?.replace(/^.*,/, '') ?? null },
      }),
    onSuccess: (saved) => {
      setChangedAt(saved.changedAt)
      queries.setQueryData(['branding', client], saved)
    },
  })
  const hasBadOrigins = fieldErrorsOf(saving.error).some(({ field }) => field.startsWith('embedOrigins'))
  const { logo, color } = saving.values
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
      <ActionForm
        action={saving}
        buttons={
          <Group>
            <Button type="submit" loading={saving.isPending}>
              {t.save}
            </Button>
            {saving.isSaved && (
              <Text size="sm" role="status">
                {t.saved}
              </Text>
            )}
          </Group>
        }
      >
        <Section title={t.appearance}>
          <Stack>
            <LogoInput logo={logo} onChange={(next) => saving.setValues({ logo: next })} />
            <ColorInput
              {...saving.input('color')}
              label={t.color}
              description={t.colorHint}
              placeholder={standardColor}
              withPreview={false}
              leftSection={<ColorSwatch size={18} color={color === '' ? standardColor : color} />}
              format="hex"
              // Its button has no name for screen readers.
              withEyeDropper={false}
            />
            {color !== '' && (
              <Group>
                <Button size="compact-sm" variant="subtle" onClick={() => saving.setValues({ color: '' })}>
                  {t.standard}
                </Button>
              </Group>
            )}
          </Stack>
        </Section>
        <Section title={t.shop}>
          <Stack>
            <TextInput
              {...saving.input('shopUrl')}
              label={t.shopUrl}
              description={t.shopUrlHint}
              placeholder="https://loja.example.com/"
              inputMode="url"
            />
            <Checkbox {...saving.checkbox('showsItems')} label={t.showsItems} description={t.showsItemsHint} />
          </Stack>
        </Section>
        <Section title={t.embed}>
          <Stack>
            <Textarea
              {...saving.input('embedOrigins')}
              label={t.embedOrigins}
              description={t.embedHint}
              autosize
              minRows={2}
              {...(hasBadOrigins && { error: t.badOrigins })}
            />
            {branding.embedOrigins.length > 0 && <Snippet />}
          </Stack>
        </Section>
      </ActionForm>
      <Preview branding={branding} logo={logo} />
    </SimpleGrid>
  )
}

function LogoInput({ logo, onChange }: { logo: string | null; onChange: (logo: string | null) => void }) {
  const t = useText(words)
  const [isTooLarge, setTooLarge] = useState(false)
  const reset = useRef<() => void>(null)
  const read = useMutation({
    mutationFn: toLogo,
    onMutate: () => setTooLarge(false),
    onSuccess: (png) => (png === null ? setTooLarge(true) : onChange(`data:image/png;base64,${png}`)),
  })
  return (
    <div>
      <Text size="sm" fw={600}>
        {t.logo}
      </Text>
      <Text size="xs" c="dimmed" mb="xs">
        {t.logoHint}
      </Text>
      <Group>
        {logo !== null && (
          <Image src={logo} alt={t.logo} w="auto" mah={56} maw={200} fit="contain" style={{ background: '#fff' }} />
        )}
        <FileButton
          accept="image/png,image/jpeg,image/webp"
          resetRef={reset}
          onChange={(file) => {
            if (file) read.mutate(file)
            // The same file can be chosen again.
            reset.current?.()
          }}
        >
          {(props) => (
            <Button {...props} variant="default" size="xs" loading={read.isPending}>
              {t.choose}
            </Button>
          )}
        </FileButton>
        {logo !== null && (
          <Button variant="subtle" size="xs" onClick={() => onChange(null)}>
            {t.removeLogo}
          </Button>
        )}
      </Group>
      {(read.isError || isTooLarge) && (
        <Alert color="orange" role="alert" mt="xs">
          {read.isError ? t.badLogo : t.logoTooLarge}
        </Alert>
      )}
    </div>
  )
}

/** The HTML for a shop's page. `paymentUrl` is a field of the answer to POST /transaction. */
function Snippet() {
  const t = useText(words)
  const code = `<script src="${location.origin}/pay/embed.js"></script>\n<a href="{paymentUrl}" data-guiche>Pagar com Pix</a>`
  return (
    <div>
      <Group justify="space-between">
        <Text size="sm" fw={500}>
          {t.snippet}
        </Text>
        <CopyAction value={code} label={t.snippet} isSmall />
      </Group>
      <Code block tabIndex={0}>
        {code}
      </Code>
    </div>
  )
}
