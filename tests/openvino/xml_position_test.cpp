#include "frontends/openvino/xml_position.h"

#include <gtest/gtest.h>

namespace scanloom::openvino {
namespace {

TEST(XmlPosition, CountsLinesAndCharactersFrom1) {
  XmlText text("<a>\n  <b/>\n\n\xC3\xA4\xE2\x82\xAC<c>");
  EXPECT_EQ(text.position(0), "line 1, column 1");
  EXPECT_EQ(text.position(3), "line 1, column 4");
  EXPECT_EQ(text.position(4), "line 2, column 1");
  EXPECT_EQ(text.position(6), "line 2, column 3");
  EXPECT_EQ(text.position(11), "line 3, column 1");
  // Two characters of two and three bytes precede <c>.
  EXPECT_EQ(text.position(17), "line 4, column 3");
  EXPECT_EQ(text.position(1000), "line 4, column 6");
}

TEST(XmlPosition, AnEmptyTextHasOneLine) {
  EXPECT_EQ(XmlText("").position(0), "line 1, column 1");
  EXPECT_EQ(XmlText("").open_element(0), "");
}

struct OpenElement {
  const char* text;
  const char* element;
};

TEST(XmlPosition, NamesTheInnermostOpenElement) {
  for (const OpenElement& one : {
           OpenElement{"<net><layers>", "layers"},
           OpenElement{"<net><layers></layers>", "net"},
           OpenElement{"<net><layer id='1'/><edge ", "edge"},
           OpenElement{"<net></net>", ""},
           OpenElement{"</net>", ""},
           OpenElement{"<?xml version='1.0'?><net>", "net"},
           OpenElement{"<net><!-- <layer> -->", "net"},
           OpenElement{"<net><!-- <layer>", "net"},
           OpenElement{"<net><![CDATA[<layer>]]>", "net"},
           OpenElement{"<net><data name='a>b<c'><dim>", "dim"},
           OpenElement{"<net><data name=\"a/>\"", "data"},
           OpenElement{"<net\n  name='x'>", "net"},
           OpenElement{"<net><", "net"},
           OpenElement{"<net></layers", "net"},
       })
    EXPECT_EQ(XmlText(one.text).open_element(1000), one.element) << one.text;
}

TEST(XmlPosition, WhatFollowsDoesNotCount) {
  EXPECT_EQ(XmlText("<net><layers><layer/></layers></net>").open_element(6), "layers");
}

}  // namespace
}  // namespace scanloom::openvino
