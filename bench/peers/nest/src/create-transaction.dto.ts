import { Type } from 'class-transformer'
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsDateString,
  IsEmail,
  IsIn,
  IsInt,
  IsIP,
  IsNotEmptyObject,
  IsObject,
  IsOptional,
  IsString,
  IsUrl,
  Length,
  Matches,
  Max,
  MaxLength,
  Min,
  registerDecorator,
  ValidateIf,
  ValidateNested,
} from 'class-validator'
import { isDocument } from './documents'

function IsTaxDocument() {
  return (target: object, propertyName: string) =>
    registerDecorator({
      name: 'isTaxDocument',
      target: target.constructor,
      propertyName,
      validator: { validate: (value: unknown) => typeof value === 'string' && isDocument(value) },
    })
}

class CustomerDto {
  @IsOptional() @IsIP() ip?: string
  @IsString() @Length(1, 255) name: string
  @IsTaxDocument() document: string
  @IsEmail() @MaxLength(254) email: string
  @IsOptional() @IsString() @MaxLength(30) landline?: string
  @IsOptional() @IsString() @MaxLength(30) mobilePhone?: string
  @IsOptional() @IsDateString() birthdate?: string
}

class SellerDto {
  @IsString() @Length(1, 255) name: string
  @IsTaxDocument() document: string
}

class AddressDto {
  @Matches(/^\d{5}-?\d{3}$/) zipCode: string
  @IsOptional() @IsString() @Length(2, 150) complement?: string
  @Matches(/^\d{1,10}$/) number: string
  @IsString() @Length(2, 200) street: string
  @IsString() @Length(2, 100) neighborhood: string
  @IsString() @Length(2, 100) city: string
  @IsString() @Length(2, 50) state: string
  @IsString() @Length(2, 60) country: string
}

class ItemDto {
  @IsString() @Length(2, 150) title: string
  @IsOptional() @IsString() @Length(2, 255) description?: string
  @IsInt() @Min(1) @Max(10_000_000) unitPrice: number
  @IsOptional() @IsInt() @Min(1) @Max(100) quantity?: number = 1
}

class PixDto {
  @IsOptional() @IsInt() @Min(60) @Max(86_400) expirationSeconds: number = 1800
}

export class CreateTransactionDto {
  @IsInt() @Min(1) @Max(10_000_000) amount: number
  @IsIn(['PIX']) paymentMethod: string
  @IsOptional() @IsUrl({ require_tld: false }) webhookUrl?: string
  @IsOptional() @IsString() @Length(1, 255) externalCode?: string
  @IsOptional() @IsString() @Length(1, 255) idempotencyKey?: string
  @IsOptional() @ValidateNested() @Type(() => CustomerDto) customer?: CustomerDto
  @IsOptional() @ValidateNested() @Type(() => SellerDto) seller?: SellerDto
  @IsOptional() @IsBoolean() isInfoProduct: boolean = true
  @ValidateIf((body: CreateTransactionDto) => body.isInfoProduct === false || body.address !== undefined)
  @IsNotEmptyObject()
  @ValidateNested()
  @Type(() => AddressDto)
  address?: AddressDto
  @IsOptional() @IsArray() @ArrayMaxSize(100) @ValidateNested({ each: true }) @Type(() => ItemDto) items?: ItemDto[]
  @IsOptional() @IsObject() metadata?: Record<string, unknown>
  @IsObject() @ValidateNested() @Type(() => PixDto) pix: PixDto
}
