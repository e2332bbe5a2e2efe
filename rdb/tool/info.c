/* bloomport info: a filter's numbers, for people or as JSON. */

#include "module/core/measure.h"
#include "rdb/tool/options.h"
#include "rdb/tool/tool.h"

#include <stdio.h>

typedef unsigned long long number; // the type that printf prints portably

static double fill_of(const struct filter *filter) {
    return (double)measure_ones(filter) / (double)measure_bits(filter);
}

/* Only a dump has counts; other formats have nothing but the bits. */
static void print_text(const struct filter *filter, enum file_format format) {
    printf("format              %s\n", file_format_name(format));
    printf("layout              %s\n", tool_layout_name(filter->layout));
    printf("hash                %s\n", tool_scheme_name(filter->scheme));
    printf("layers              %u\n", filter->nlayers);
    if (filter->nlayers == 1) printf("hashes per item (k) %u\n", filter->layers[0].nhashes);
    printf("bits (m)            %llu\n", (number)measure_bits(filter));
    printf("bytes               %llu\n", (number)filter_array_bytes(filter));
    printf("ones                %llu\n", (number)measure_ones(filter));
    printf("fill                %.6f\n", fill_of(filter));
    if (!filter->is_estimated) printf("items               %llu\n", (number)filter_items(filter));
    printf("estimated items     %llu\n", (number)measure_items(filter));
    printf("capacity            %llu\n", (number)filter_capacity(filter));
    printf("expansion           %u\n", filter->expansion);
    printf("current error rate  %.6g\n", measure_error_rate(filter));
    if (filter->nlayers == 1) return;
    printf("\n%5s %16s %5s %16s %10s %16s\n", "layer", "bits", "k", "capacity", "fill", "items");
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        const struct layer *layer = &filter->layers[i];
        printf("%5u %16llu %5u %16llu %10.6f %16llu\n", i + 1, (number)layer->nbits, layer->nhashes,
               (number)layer->capacity, (double)layer->ones / (double)layer->nbits,
               (number)layer->items);
    }
}

static void print_json_layer(const struct layer *layer) {
    printf("{\"bits\":%llu,\"hashes\":%u,\"capacity\":%llu,\"items\":%llu,\"ones\":%llu,"
           "\"fill\":%.17g,\"current_error_rate\":%.17g}",
           (number)layer->nbits, layer->nhashes, (number)layer->capacity, (number)layer->items,
           (number)layer->ones, (double)layer->ones / (double)layer->nbits,
           layer_current_error_rate(layer));
}

static void print_json(const struct filter *filter, enum file_format format) {
    printf("{\"format\":\"%s\",\"layout\":\"%s\",\"hash\":\"%s\",", file_format_name(format),
           tool_layout_name(filter->layout), tool_scheme_name(filter->scheme));
    printf("\"hashes\":%u,\"bits\":%llu,\"bytes\":%llu,\"ones\":%llu,\"fill\":%.17g,",
           filter->layers[0].nhashes, (number)measure_bits(filter),
           (number)filter_array_bytes(filter), (number)measure_ones(filter), fill_of(filter));
    printf("\"items\":%llu,\"items_are_estimated\":%s,\"estimated_items\":%llu,",
           (number)filter_items(filter), filter->is_estimated ? "true" : "false",
           (number)measure_items(filter));
    printf("\"capacity\":%llu,\"expansion\":%u,\"current_error_rate\":%.17g,\"layers\":[",
           (number)filter_capacity(filter), filter->expansion, measure_error_rate(filter));
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        if (i > 0) putchar(',');
        print_json_layer(&filter->layers[i]);
    }
    puts("]}");
}

int info_run(const struct options *options) {
    options_need_operands(options, 1, 1, "the filter's file");
    enum file_format format;
    struct filter *filter = file_load(options->operands[0], options, &format);
    if (options->json) {
        print_json(filter, format);
    } else {
        print_text(filter, format);
    }
    filter_free(filter);
    return TOOL_OK;
}
